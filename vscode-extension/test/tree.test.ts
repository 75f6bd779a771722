// The graph breaks of the workspace as a tree.

import assert from "node:assert/strict";
import { test } from "node:test";
import { firstSentence, treeOf, type Shown } from "../src/treeData";

const shown = (file: string, line: number, severity = 1, message = "It breaks. More."): Shown =>
  ({ file, line, column: 4, code: "GB0170", message, severity });

test("files by path, breaks by line, and how many a run met", () => {
  const tree = treeOf([shown("/p/z.py", 3), shown("/p/a.py", 9, 2), shown("/p/z.py", 1, 0), shown("/p/a.py", 2, 3)]);
  assert.deepEqual(tree.map(({ name, words }) => [name, words]), [["a.py", "2 not met in a run"], ["z.py", "2 graph breaks"]]);
  assert.deepEqual(tree.map(({ breaks }) => breaks.map(({ label }) => label)), [["3: It breaks", "10: It breaks"], ["2: It breaks", "4: It breaks"]]);
  assert.deepEqual(treeOf([shown("C:\\\\w\\\\m.py", 1), shown("C:\\\\w\\\\m.py", 2, 2)]).map(({ name, words }) => [name, words]),
    [["m.py", "1 graph break, 1 not met in a run"]]);
  assert.deepEqual(treeOf([]), []);
});

const SENTENCES: readonly (readonly [string, string])[] = [
  ["What runs next depends on `x.sum() > 0`; choose with torch.where. Costs 1 graph.", "What runs next depends on `x.sum() > 0`; choose with torch.where"],
  ["No full stop\nnext line.", "No full stop"],
  ["", ""],
];
for (const [message, first] of SENTENCES) test(`the first sentence of ${message}`, () => assert.equal(firstSentence(message), first));
