// Bundles the extension into out/extension.js, and the graph map into out/map.js and out/map.css, which the command line's
// pages have, too: with --map they are also written into the server, where they are part of the source. With --tests also
// every test/*.test.ts into out/test/.
import { build } from "esbuild";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { buildMap } from "./map/bundle.mjs";

const here = (path) => new URL(path, import.meta.url).pathname;
const common = { bundle: true, platform: "node", format: "cjs", target: "node20", sourcemap: false, logLevel: "warning" };

await build({
  ...common,
  entryPoints: [here("src/extension.ts")],
  outfile: here("out/extension.js"),
  external: ["vscode"],
  minify: !process.argv.includes("--tests"),
});

mkdirSync(here("out"), { recursive: true });
const folders = ["out/", ...(process.argv.includes("--map") ? ["../server/graphmend_lsp/report/assets/"] : [])];
for (const [name, text] of Object.entries(await buildMap())) {
  for (const folder of folders) writeFileSync(here(`${folder}${name}`), text);
}

if (process.argv.includes("--tests")) {
  rmSync(here("out/test"), { recursive: true, force: true });
  const tests = readdirSync(here("test")).filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => here(`test/${name}`)), outdir: here("out/test") });
}
