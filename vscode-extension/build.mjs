// Bundles the extension into out/extension.js; with --tests also every test/*.test.ts into out/test/.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url).pathname;
const common = { bundle: true, platform: "node", format: "cjs", target: "node20", sourcemap: false, logLevel: "warning" };

await build({
  ...common,
  entryPoints: [here("src/extension.ts")],
  outfile: here("out/extension.js"),
  external: ["vscode"],
  minify: !process.argv.includes("--tests"),
});

if (process.argv.includes("--tests")) {
  rmSync(here("out/test"), { recursive: true, force: true });
  const tests = readdirSync(here("test")).filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => here(`test/${name}`)), outdir: here("out/test") });
}
