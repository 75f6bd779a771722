// The graph map as two texts, map.js and map.css. The same sources and packages give the same bytes.
import { build } from "esbuild";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** @returns {Promise<{"map.js": string, "map.css": string}>} */
export async function buildMap() {
  const preact = dirname(createRequire(import.meta.url).resolve("preact/package.json"));
  const { version } = JSON.parse(readFileSync(join(preact, "package.json"), "utf8"));
  const licence = readFileSync(join(preact, "LICENSE"), "utf8").trim();
  const common = { absWorkingDir: here, bundle: true, write: false, minify: true, charset: "ascii", legalComments: "none", logLevel: "warning" };
  const script = await build({
    ...common,
    entryPoints: ["map.tsx"],
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    banner: { js: `/* GraphMend's graph map, made by vscode-extension/build.mjs. It contains preact ${version}:\n\n${licence}\n*/` },
  });
  const style = await build({ ...common, entryPoints: ["map.css"] });
  return { "map.js": script.outputFiles[0].text, "map.css": style.outputFiles[0].text };
}
