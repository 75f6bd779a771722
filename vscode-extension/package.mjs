// Builds graphmend-VERSION.vsix: the bundled extension, and the wheel of the language server for the managed environment.
// PYTHON names the Python that builds the wheel (python3).

import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createVSIX } from "@vscode/vsce";

const here = dirname(fileURLToPath(import.meta.url));
const version = JSON.parse(readFileSync(join(here, "package.json"), "utf8")).version;
const run = (command, ...args) => execFileSync(command, args, { cwd: here, stdio: "inherit" });

run(process.execPath, "build.mjs");
rmSync(join(here, "bundled"), { recursive: true, force: true });
run(process.env.PYTHON ?? "python3", "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", "bundled", "..");
const packagePath = process.argv[2] ?? join(here, `graphmend-${version}.vsix`);

// The pictures of the README go along, for who installs the file: those that a release has made addresses are not read here.
const readme = readFileSync(join(here, "README.md"), "utf8");
const pictures = [...readme.matchAll(/!\[[^\]]*\]\(\.\.\/docs\/(img\/[^)]+)\)/g)].map((found) => found[1]);
rmSync(join(here, "img"), { recursive: true, force: true });
for (const picture of pictures) cpSync(join(here, "..", "docs", picture), join(here, picture));
writeFileSync(join(here, "out", "README.md"), readme.replaceAll("](../docs/img/", "](img/"));
await createVSIX({
  cwd: here, packagePath, dependencies: false, allowMissingRepository: true, readmePath: "out/README.md", rewriteRelativeLinks: false,
});
