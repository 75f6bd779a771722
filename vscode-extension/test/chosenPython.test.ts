import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenPython, type EnvironmentsExtension, type PythonEnvironments } from "../src/chosenPython";

const event = () => ({ dispose: () => undefined });
const uri = (fsPath: string) => ({ fsPath }) as never;
const newer = (executable: string | undefined): EnvironmentsExtension => ({
  getEnvironment: async (scope) => (scope === undefined && executable === undefined ? undefined : { execInfo: { run: { executable } } }) as never,
});
const older = (file: string): PythonEnvironments => ({
  getActiveEnvironmentPath: () => ({ path: file }),
  resolveEnvironment: async ({ path }) => ({ executable: { uri: uri(path) } }),
  onDidChangeActiveEnvironmentPath: event,
});
const failing = (): never => {
  throw new Error("not ready");
};

const cases: [string, EnvironmentsExtension | undefined, PythonEnvironments | undefined, string | undefined, number][] = [
  ["neither", undefined, undefined, undefined, 0],
  ["the Python extension alone", undefined, older("/old/python"), "/old/python", 0],
  ["the Python Environments extension alone", newer("/new/python"), undefined, "/new/python", 0],
  ["both: the newer one", newer("/new/python"), older("/old/python"), "/new/python", 0],
  ["nothing chosen in the newer one", newer(undefined), older("/old/python"), "/old/python", 0],
  ["a newer one of another make", {}, older("/old/python"), "/old/python", 0],
  ["the newer one fails", { getEnvironment: failing }, older("/old/python"), "/old/python", 1],
  ["both fail", { getEnvironment: failing }, { ...older("/old"), getActiveEnvironmentPath: failing }, undefined, 2],
];
for (const [name, environments, python, expected, complaints] of cases) {
  test(`the chosen interpreter: ${name}`, async () => {
    const said: string[] = [];
    assert.equal(await chosenPython(environments, python, undefined, (words) => said.push(words)), expected);
    assert.equal(said.length, complaints);
  });
}
