// What is offered when the model's Python has no torch.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Host, Probe } from "../src/launch";
import { helpWith, installCommand } from "../src/pythonProblem";

const [DOT, PLAIN] = ["/w/.venv/bin/python", "/w/venv/bin/python"];
const probe = (torch: boolean): Probe => ({ executable: "", version: [3, 12, 0], server: null, torch });

const host = (pythons: Readonly<Record<string, Probe | Error>>): Host => ({
  platform: "linux", exists: (file) => file in pythons, which: () => undefined, managed: "/none", folders: () => ["/w"], env: {},
  probe: async (python) => pythons[python] ?? assert.fail(`${python} is started`), activePython: async () => undefined,
});

const CASES: [string, string | undefined, Readonly<Record<string, Probe | Error>>, boolean, string[]][] = [
  ["an environment of the folder has torch", "/usr/bin/python3", { [DOT]: probe(true) }, true, ["Use .venv", "Select Interpreter", "Install torch"]],
  ["both have", "/usr/bin/python3", { [DOT]: probe(true), [PLAIN]: probe(true) }, true,
    ["Use .venv", "Use venv", "Select Interpreter", "Install torch"]],
  ["that of the folder has none either", "/usr/bin/python3", { [DOT]: probe(false) }, true, ["Select Interpreter", "Install torch"]],
  ["that of the folder does not start", "/usr/bin/python3", { [DOT]: new Error("broken") }, true, ["Select Interpreter", "Install torch"]],
  ["it is that of the folder", DOT, { [DOT]: probe(true) }, true, ["Select Interpreter", "Install torch"]],
  ["no Python extension", "/usr/bin/python3", {}, false, ["Choose Interpreter…", "Install torch"]],
  ["no Python at all", undefined, {}, false, ["Choose Interpreter…"]],
];
for (const [title, python, pythons, selects, offered] of CASES) {
  test(`no torch: ${title}`, async () => {
    assert.deepEqual((await helpWith(python, "/w", host(pythons), selects, false)).map((help) => help.title), offered);
  });
}

test("the line that installs torch", () => {
  assert.equal(installCommand("/w/.venv/bin/python", "linux", false), "/w/.venv/bin/python -m pip install --upgrade torch");
  assert.equal(installCommand("/w/.venv/bin/python", "linux", true), "uv pip install --upgrade --python /w/.venv/bin/python torch");
  assert.equal(installCommand("/my $models/bin/python", "linux", false), '"/my \\$models/bin/python" -m pip install --upgrade torch');
  assert.equal(installCommand("C:\\w\\.venv\\Scripts\\python.exe", "win32", false), "C:\\w\\.venv\\Scripts\\python.exe -m pip install --upgrade torch");
  assert.equal(installCommand("C:\\my w\\python.exe", "win32", false), '& "C:\\my w\\python.exe" -m pip install --upgrade torch');
});
