// The graph map: the texts that the command line's pages are made of are up to date, and what it says.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import type { Break, Graph, Mend, Outside, Place, Strip } from "../map/shape";
import { breakWords, codeParts, graphWords, numbered, outsidesOf, saving, stripTitle, stripWords, timesOf, timeWords, widthOf } from "../map/words";

const extension = join(__dirname, "../..");
const built = (name: string): string => readFileSync(join(extension, "../server/graphmend_lsp/report/assets", name), "utf8");

test("the server's copy of the map is what its sources give (npm run map)", () => {
  const module = pathToFileURL(join(extension, "map/bundle.mjs")).href;
  const script = `import(${JSON.stringify(module)}).then(({ buildMap }) => buildMap()).then((texts) => console.log(JSON.stringify(texts)))`;
  const texts = JSON.parse(execFileSync(process.execPath, ["-e", script], { encoding: "utf8" })) as Record<string, string>;
  assert.deepEqual(Object.keys(texts).sort(), ["map.css", "map.js"]);
  for (const [name, text] of Object.entries(texts)) assert.ok(text === built(name), `${name} is not up to date: npm run map`);
});

test("the map is small, loads nothing, and names what it contains", () => {
  const script = built("map.js");
  assert.ok(script.length < 40_000, `${script.length} bytes`);
  assert.match(script, /contains preact \d+\.\d+\.\d+:\s+The MIT License/);
  assert.doesNotMatch(script, /\beval\(|new Function|\bimport\(|fetch\(|XMLHttpRequest|innerHTML=`/);
  assert.doesNotMatch(script, /<\/script/i);
  assert.doesNotMatch(built("map.css"), /url\(|@import|<\/style/);
});

const graph = (ops: number): Graph => ({ kind: "graph", ops, function: "Net.forward", path: "/p/net.py", line: 4, share: null });
const stop = (place: number): Break => ({ kind: "break", place });
const rest: Outside = { kind: "outside", place: 7, function: "helper", path: "/p/net.py", line: 8, end_line: 12 };
const strip: Strip = {
  mode: "eval", state: "now", run: "real", graphs: 3, ops: 24, breaks: 2, skipped_frames: 1, in_order: true, note: "", error: null,
  pieces: [graph(3), stop(7), rest, graph(20), stop(5), stop(7), rest, graph(1)], places: [5, 7, 9],
};
const place = { path: "/p/net.py", line: 7, code: "GB0170", text: "x > 0" } as Place;
const mend: Mend = {
  title: "choose", safety: "safe", why: "", before: { graphs: 3, breaks: 2, skipped_frames: 1 }, after: { graphs: 1, breaks: 2, skipped_frames: 0 },
};

const SAID: readonly (readonly [string, unknown, unknown])[] = [
  ["a graph", graphWords(graph(1), 2, 3), "Graph 2 of 3: 1 operator in Net.forward, net.py:4"],
  ["a graph of an unknown function", graphWords({ ...graph(2), path: "" }, 1, 1), "Graph 1 of 1: 2 operators"],
  ["a graph that was timed", graphWords({ ...graph(1), share: 0.256 }, 2, 3), "Graph 2 of 3: 1 operator in Net.forward, net.py:4, 26% of the time"],
  ["a strip that was timed", timeWords({ ...strip, pieces: [{ ...graph(1), share: 0.25 }, stop(7), { ...graph(1), share: 0.5 }] }),
    "75% of the time of the call is in the graphs, 25% outside of any graph (with eager operators)"],
  ["a strip that was timed in part", timeWords({ ...strip, pieces: [{ ...graph(1), share: 0.25 }, graph(2)] }), ""],
  ["a break", breakWords(place, 4), "Graph break 4: GB0170, net.py:7, x > 0"],
  ["a strip", stripWords(strip), "3 graphs (24 operators), 2 graph breaks, 1 skipped frame"],
  ["a strip that failed", stripWords({ ...strip, error: "no" }), "did not run to its end"],
  ["titles", [stripTitle(strip), stripTitle({ ...strip, run: "fake", state: "after" })], ["eval", "eval, without data, after the mend"]],
  ["a mend", saving(mend), "3 → 1 graphs, 1 → 0 skipped frames"],
  ["numbers, as breaks are met", [...numbered([strip])], [[7, 1], [5, 2], [9, 3]]],
  ["how often", [7, 5, 9].map((one) => timesOf(one, [strip, strip])), [2, 1, 0]],
  ["what runs uncompiled", outsidesOf(7, [strip]), ["helper runs uncompiled: lines 8 to 12 of net.py"]],
  ["code in words", codeParts("a `b` c"), ["a ", "b", " c"]],
  ["widths grow and end", [0, 100, 10_000].map(widthOf), [2.25, 8, 14]],
];
for (const [name, said, expected] of SAID) test(name, () => assert.deepEqual(said, expected));
