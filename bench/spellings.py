"""Which builtins, operators and calls of torch and numpy Dynamo does not trace, and whether the table of spellings mends them.

    python bench/spellings.py [--only WORD] [--rows]

Each line of `spellings.txt` is an expression of a float tensor ``x``, an integer tensor ``i`` and a matrix ``m``. It is evaluated in
a function between two operators, once read by nobody and once returned; the break that Dynamo meets is printed, and by ``->`` the
form that the rule `spelling` knows for it. Then each row of that rule is tried: its first form must break and its second must
not. The exit status is 1 when a row's second form breaks. Whether both forms are the same is the matter of
`tests/mending/test_spelling.py`. With --rows only the rows are tried. About 0.2 s an expression.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rules.spelling.table import SPELLINGS, SUCH_AS, Spelling
from graphmend_lsp.model import Break, Frame, Span
from graphmend_lsp.text import Text, apply_edits
from graphmend_lsp.worker.compiling import leave_guards_untimed

_MODULES = """
abc array base64 binascii bisect collections collections.abc contextlib copy dataclasses datetime decimal enum fractions
functools hashlib heapq importlib importlib.util inspect itertools json math numbers operator os pathlib pickle platform
pprint random re shlex statistics string struct sys textwrap threading time types typing uuid warnings weakref zlib
"""
_HEAD = """\
@dataclasses.dataclass
class D:
    a: object


class E(enum.Enum):
    A = 1


P = collections.namedtuple("P", "a b")
"""
_PATH = "asked.py"
_FAILS = "fails uncompiled with"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="expressions with this word")
    parser.add_argument("--rows", action="store_true", help="the rows of the table only")
    options = parser.parse_args()
    leave_guards_untimed()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    asked = broken = 0
    lines = [] if options.rows else (Path(__file__).parent / "spellings.txt").read_text("utf-8").splitlines()
    for expression in lines:
        if options.only not in expression:
            continue
        asked += 1
        if found := breaks_of(expression):
            broken += not found.startswith(_FAILS)
            print(f"{expression:60} {found}{_known(expression, found)}", flush=True)
    print(f"{asked} expressions, {broken} break")
    wrong = [line for row in SPELLINGS if options.only in row.before for line in _row(row)]
    print("\n".join(wrong) or f"{len(SPELLINGS)} rows: every second form is traced")
    return 1 if wrong else 0


def breaks_of(expression: str) -> str:
    """The first break of an expression, as its id and type, and where only returning it breaks; empty for none."""
    unused = _first_break(f"    y = x.sin()\n    v = {expression}\n    return y + 1\n")
    if unused == "none":
        returned = _first_break(f"    y = x.sin()\n    v = {expression}\n    return y + 1, v\n")
        return "" if returned == "none" else f"returned: {returned}"
    return unused


def _space() -> dict[str, Any]:
    space: dict[str, Any] = {"torch": torch, "np": importlib.import_module("numpy")}
    space["numpy"] = space["np"]
    for name in _MODULES.split():
        importlib.import_module(name)
        root = name.partition(".")[0]
        space[root] = importlib.import_module(root)
    exec(_HEAD, space)
    return space


def _first_break(body: str) -> str:
    space = _space()
    exec(f"def fn(x, i, m):\n{body}", space)
    x, i, m = torch.arange(1.0, 5.0), torch.arange(1, 5), torch.ones(2, 3)
    try:
        space["fn"](x.clone(), i, m)
    except Exception as error:
        return f"{_FAILS} {type(error).__name__}"
    torch._dynamo.reset()
    try:
        with torch._dynamo.error_on_graph_break(True):
            torch.compile(space["fn"], backend="eager")(x.clone(), i, m)
    except Exception as error:
        number = re.search(r"gb/gb(\d+)", str(error))
        return f"{f'GB{number[1]}' if number else type(error).__name__} {str(error).splitlines()[0][:60]}"
    return "none"


def _known(expression: str, found: str) -> str:
    """What the rule writes in place of an expression that breaks, behind an arrow."""
    source = f"import copy, itertools, math, operator\nimport numpy as np\nimport torch\n\n\ndef fn(x, i, m):\n    return {expression}\n"
    start = source.index(expression, source.index("return "))
    text = Text(source)
    span = Span(text.position(start), text.position(start + len(expression)))
    site = Break(_PATH, span, found.partition(" ")[0], found, "", "dynamo", chain=(Frame(_PATH, "fn", span),))
    mends = propose(site, {_PATH: source}, ["spelling", "constant"]).mends
    if not mends:
        return ""
    return f"   -> {apply_edits(source, mends[0].edits).rpartition('return ')[2].strip()} ({mends[0].rule})"


def _row(row: Spelling) -> Iterator[str]:
    letters = sorted(set(re.findall(r"\b[A-Z]\b", row.before)))
    choices = [row.such_as.get(one) or SUCH_AS[row.where.get(one, "any")] for one in letters]
    first, second = next(
        (before, after)
        for parts in itertools.product(*choices)
        for before, after in [(_filled(row.before, letters, parts), _filled(row.after, letters, parts))]
    )
    seen = [_first_break(f"    t = i + 0\n    {line}\n    return x + 1\n") for line in (first, second)]
    print(f"{first:45} {seen[0]:70} -> {second:30} {seen[1]}", flush=True)
    if seen[1] != "none":
        yield f"{row.after} breaks as well: {seen[1]}"
    if seen[0] == "none":
        print("  (this torch traces the first form, too)")


def _filled(form: str, letters: list[str], parts: tuple[str, ...]) -> str:
    by_letter = dict(zip(letters, parts, strict=True))
    return re.sub(r"\*?\b([A-Z])\b", lambda found: by_letter[found[1]], form)


if __name__ == "__main__":
    sys.exit(main())
