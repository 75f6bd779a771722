// The graph map's page in the editor: its policy, and what it may ask for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, mapPage, readRequest, utf16Column } from "../src/mapPage";

test("the page loads nothing, and only what carries the nonce runs or styles", () => {
  const page = mapPage("let a = 1", "b { c: d }", "NONCE");
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? "";
  assert.equal(policy, "default-src 'none'; script-src 'nonce-NONCE'; style-src 'nonce-NONCE'; base-uri 'none'; form-action 'none'");
  assert.deepEqual(page.match(/<(?:script|style|link|img|iframe)[^>]*>/g), ['<style nonce="NONCE">', '<script nonce="NONCE">']);
  assert.doesNotMatch(page, /https?:/);
});

const OPEN = { kind: "open", path: "/p/a.py", line: 3, column: 5 } as const;
const MESSAGES: readonly (readonly [unknown, unknown])[] = [
  [{ kind: "ready", more: 1 }, { kind: "ready" }],
  [{ ...OPEN, command: "rm" }, OPEN],
  [{ ...OPEN, line: 0 }, undefined],
  [{ ...OPEN, column: "5" }, undefined],
  [{ ...OPEN, path: ["/p"] }, undefined],
  [{ kind: "run", path: "/p/a.py", line: 1, column: 1 }, undefined],
  ["ready", undefined],
  [null, undefined],
];
for (const [message, read] of MESSAGES) test(JSON.stringify(message), () => assert.deepEqual(readRequest(message), read));

test("columns are code points on the server and UTF-16 here", () => {
  assert.deepEqual([1, 2, 3, 99].map((column) => utf16Column("x𝒜y", column)), [0, 1, 3, 4]);
});

test("a place in a notebook names its cell", () => {
  assert.deepEqual(cellOf("/w/nb.ipynb:cell 12"), { file: "/w/nb.ipynb", number: 12 });
  for (const path of ["/w/nb.ipynb", "/w/a.py", "/w/a.py:cell 2"]) assert.equal(cellOf(path), undefined);
});
