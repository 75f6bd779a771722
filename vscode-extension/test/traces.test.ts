// Folders of traces from another machine.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commonFolder, readPair } from "../src/traces";

const FILES: readonly (readonly [readonly string[], string])[] = [
  [["/srv/project/train.py"], "/srv/project"],
  [["/srv/project/a/x.py", "/srv/project/b/y.py"], "/srv/project"],
  [["/srv/project/a/x.py", "/srv/projects/y.py"], "/srv"],
  [["/a/x.py", "/b/y.py"], ""],
  [["C:\\work\\a.py", "C:\\work\\sub\\b.py"], "C:\\work"],
  [[], ""],
];

for (const [files, folder] of FILES) {
  test(`the common folder of ${files.join(", ")}`, () => assert.equal(commonFolder(files), folder));
}

const PAIRS: readonly (readonly [string, readonly [string, string] | undefined])[] = [
  ["/home/me/project=/srv/project", ["/home/me/project", "/srv/project"]],
  [" C:\\work = /srv/project ", ["C:\\work", "/srv/project"]],
  ["\\\\host\\share=/srv", ["\\\\host\\share", "/srv"]],
  ["project=/srv/project", undefined],
  ["/srv/project", undefined],
  ["=/srv", undefined],
];

for (const [written, pair] of PAIRS) {
  test(`${written} as a pair`, () => assert.deepEqual(readPair(written), pair));
}
