// What the status item says, and how often a server that keeps ending is started again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_RESTARTS, Restarts } from "../src/restarts";
import { describe, Workers, type State, type WorkerStatus } from "../src/status";

const READY: WorkerStatus = { state: "ready", torch: "2.13.0+cpu", python: "3.11.2", device: "cpu", message: "" };

interface Case {
  readonly state: State;
  readonly text: string;
  readonly detail: string;
  readonly gravity?: string;
  readonly busy?: boolean;
  readonly command?: string;
}

const CASES: readonly Case[] = [
  { state: { kind: "starting" }, text: "GraphMend: starting", detail: "", busy: true },
  { state: { kind: "off", why: "graphmend.enable is off" }, text: "GraphMend: off", detail: "graphmend.enable is off" },
  { state: { kind: "failed", message: "no Python" }, text: "GraphMend: not running", detail: "no Python", gravity: "error", command: "graphmend.restart" },
  { state: { kind: "restricted" }, text: "GraphMend: source only", detail: "nothing is run in Restricted Mode", command: "workbench.trust.manage" },
  { state: { kind: "running", worker: undefined }, text: "GraphMend", detail: "save the file to compile it" },
  { state: { kind: "running", worker: READY }, text: "torch 2.13.0+cpu on cpu", detail: "Python 3.11.2" },
  { state: { kind: "running", worker: { ...READY, state: "busy", message: "proving a mend" } }, text: "torch 2.13.0+cpu on cpu", detail: "proving a mend", busy: true },
  { state: { kind: "running", worker: { ...READY, state: "starting", torch: null, device: null } }, text: "GraphMend", detail: "Python 3.11.2", busy: true },
  {
    state: { kind: "running", worker: { ...READY, state: "failed", torch: null, message: "torch is not installed" } },
    text: "GraphMend: cannot run the model", detail: "torch is not installed", gravity: "error", command: "graphmend.restart",
  },
];

for (const each of CASES) {
  test(`${JSON.stringify(each.state)} is shown as ${each.text}`, () => {
    const shown = describe(each.state);
    assert.deepEqual(
      [shown.text, shown.detail, shown.gravity, shown.busy, shown.action.command],
      [each.text, each.detail, each.gravity ?? "information", each.busy ?? false, each.command ?? "graphmend.showLogs"],
    );
  });
}

test("each workspace folder has its own worker's state", () => {
  const workers = new Workers((uri) => uri.replace("file://", ""));
  assert.equal(workers.of("/w/a"), undefined);
  const [none, a, b] = [{ ...READY, folder: null }, { ...READY, python: "3.12", folder: "file:///w/a" }, { ...READY, folder: "file:///w/b" }];
  for (const status of [none, a, b]) workers.take(status);
  assert.deepEqual([workers.of("/w/a"), workers.of("/w/b"), workers.of("/w/c"), workers.of(undefined)], [a, b, none, none]);
  workers.take({ ...b, state: "busy" });
  assert.deepEqual([workers.of("/w/a"), workers.of("/w/b")?.state], [a, "busy"]);
  workers.forget();
  assert.equal(workers.of("/w/a"), undefined);
});

test("a server is started again four times, and not a fifth", () => {
  const restarts = new Restarts();
  for (let time = 1; time <= MOST_RESTARTS; time++) assert.ok(restarts.again(time * 1000));
  assert.ok(!restarts.again(6_000));
});

test("ends long ago do not count", () => {
  const restarts = new Restarts();
  for (let time = 0; time < 20; time++) assert.ok(restarts.again(time * 60_000));
});

test("a restart by the user counts from zero", () => {
  const restarts = new Restarts();
  for (let time = 0; time < 5; time++) restarts.again(time);
  restarts.forget();
  assert.ok(restarts.again(10));
});
