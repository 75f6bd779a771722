// The settings as they are read, as the server is told them, and what a change of them asks for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { needsRestart, needsTelling, readSettings, serverSettings, shows, substitute, type Variables } from "../src/settings";

const VARIABLES: Variables = {
  home: "/home/u",
  cwd: "/here",
  folder: "/w/a",
  folders: [{ name: "a", path: "/w/a" }, { name: "b", path: "/w/b" }],
  env: { HOME: "/home/u" },
};

interface Manifest {
  readonly contributes: {
    readonly configuration: { readonly properties: Readonly<Record<string, { readonly default: unknown; readonly enum?: readonly string[]; readonly scope: string }>> };
    readonly commands: readonly { readonly command: string }[];
  };
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
}

const MANIFEST = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const PROPERTIES = MANIFEST.contributes.configuration.properties;

test("what package.json declares and what is read when nothing is set are the same", () => {
  const declared = readSettings((key) => PROPERTIES[`graphmend.${key}`]?.default, VARIABLES);
  assert.deepEqual(readSettings(() => undefined, VARIABLES), declared);
});

test("every choice that package.json offers is read as it is", () => {
  for (const [name, property] of Object.entries(PROPERTIES)) {
    const key = name.replace(/^graphmend\./, "");
    if (property.enum === undefined || key === "trace.server") continue; // the trace is read by the language client
    for (const choice of property.enum) {
      const read = readSettings((asked) => (asked === key ? choice : undefined), VARIABLES) as unknown as Record<string, unknown>;
      assert.equal(read[key], choice, name);
    }
  }
});

test("every change of a setting is acted upon", () => {
  for (const name of Object.keys(PROPERTIES)) {
    const key = name.replace(/^graphmend\./, "");
    const affects = (asked: string): boolean => key === asked || key.startsWith(`${asked}.`);
    assert.ok(needsRestart(affects) !== needsTelling(affects), `${name} must need either a restart or telling`);
  }
});

test("settings that name programs, or what of the workspace is run, are restricted", () => {
  const restricted = new Set(MANIFEST.capabilities.untrustedWorkspaces.restrictedConfigurations);
  for (const name of ["path", "interpreter", "args", "importStrategy", "run", "entries", "worker.command", "worker.pathMapping", "environment.source"]) {
    assert.ok(restricted.has(`graphmend.${name}`), name);
  }
  for (const name of restricted) assert.ok(name in PROPERTIES, `${name} is no setting`);
});

test("a folder of several can have its own value of each setting that the server is told", () => {
  const told = Object.keys(serverSettings(readSettings(() => undefined, VARIABLES), undefined));
  for (const [name, { scope }] of Object.entries(PROPERTIES)) {
    if (told.includes(name.split(".")[1] ?? "")) assert.ok(["resource", "machine-overridable"].includes(scope), `${name} is of scope ${scope}`);
  }
});

test("the settings of another folder name places in that folder", () => {
  const python = { interpreter: ["${workspaceFolder}/.venv/bin/python"] } as Record<string, unknown>;
  const read = (folder: string | undefined): readonly string[] => readSettings((key) => python[key], { ...VARIABLES, folder }).interpreter;
  assert.deepEqual([read("/w/a"), read("/w/b")], [["/w/a/.venv/bin/python"], ["/w/b/.venv/bin/python"]]);
  assert.deepEqual(read(undefined), ["${workspaceFolder}/.venv/bin/python"]);
});

test("values of the wrong kind fall back", () => {
  const broken: Record<string, unknown> = {
    run: "always", device: 7, interpreter: "/usr/bin/python3", entries: [1, "m.py:entry", ""], "worker.timeout": -1, "worker.memory": "much",
  };
  const read = readSettings((key) => broken[key], VARIABLES);
  assert.equal(read.run, "onSave");
  assert.equal(read.device, "auto");
  assert.deepEqual(read.interpreter, ["/usr/bin/python3"]);
  assert.deepEqual(read.entries, ["m.py:entry"]);
  assert.deepEqual(read.worker, { command: [], pathMapping: [], timeout: 120, memory: null });
});

test("the server is told the interpreter that was found, and 0 for no memory limit", () => {
  const told = serverSettings(readSettings(() => undefined, VARIABLES), "/v/bin/python");
  assert.deepEqual(told["interpreter"], ["/v/bin/python"]);
  assert.deepEqual(told["worker"], { command: [], pathMapping: [], timeout: 120, memory: 0 });
  assert.deepEqual(serverSettings(readSettings(() => undefined, VARIABLES), undefined)["interpreter"], []);
});

const SUBSTITUTIONS: readonly (readonly [string, string])[] = [
  ["${workspaceFolder}/.venv/bin/python", "/w/a/.venv/bin/python"],
  ["${workspaceFolder:b}/x", "/w/b/x"],
  ["${workspaceFolder:c}/x", "${workspaceFolder:c}/x"],
  ["${userHome}/x", "/home/u/x"],
  ["~/x", "/home/u/x"],
  ["~", "/home/u"],
  ["~other/x", "~other/x"],
  ["${env:HOME}/${env:NONE}x", "/home/u/x"],
  ["${cwd}", "/here"],
  ["{worker}", "{worker}"],
  ["${unknown}", "${unknown}"],
];

for (const [value, wanted] of SUBSTITUTIONS) {
  test(`${value} stands for ${wanted}`, () => assert.equal(substitute(value, VARIABLES), wanted));
}

test("notifications", () => {
  const shown = (["off", "onError", "onWarning", "always"] as const).map((setting) =>
    (["error", "warning", "info"] as const).filter((gravity) => shows(setting, gravity)).length,
  );
  assert.deepEqual(shown, [0, 1, 2, 3]);
});
