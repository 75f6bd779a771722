"""What Dynamo cannot trace is written in the equal form that it can.

What it does
------------
``pow(x, 2)`` becomes ``x ** 2``, ``x.is_signed()`` becomes ``x.dtype.is_signed``, ``int(np.prod(x.shape))`` becomes
``math.prod(x.shape)``, ``copy.copy(states)`` of a list ``states.copy()``, and so on, by a table of spellings. A
``threading.Lock()`` that the function makes and only enters becomes ``contextlib.nullcontext()``.

Why it costs
------------
Dynamo knows most builtins, operators and calls of torch and numpy, but not all: at the others it ends the graph, calls Python,
and starts again.

Safety
------
Every row of the table was compared bit for bit over dtypes, strides, tensors without dimensions and without elements, NaN,
infinities and gradients, exceptions included. Nobody else can hold a lock that never leaves the function.

When it is refused
------------------
Where a row is about tensors, sizes or lists only and the source does not show that it is one; for locks that are handed on, or
asked whether they are held.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.rules.spelling import RULE
from graphmend_lsp.mending.rules.spelling.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.spelling.lock import unlocked
from graphmend_lsp.mending.rules.spelling.pattern import match, unfit, written
from graphmend_lsp.mending.rules.spelling.table import SPELLINGS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_NEAR = 2


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a spelling; empty when the break is at none of the table."""
    source = place.source
    node = place.node.value if isinstance(place.node, ast.Expr) else place.node
    if place.function is None or not isinstance(node, ast.expr):
        return ()
    if isinstance(node, ast.Call) and (changed := unlocked(source, place.function, node)) is not None:
        return (_mend(source, node, "Enter an empty context instead of a lock of its own", changed),)
    declined: list[Declined] = []
    for one in _near(source, node):
        for row in SPELLINGS:
            parts = match(source, row, one)
            if parts is None or (row.only and row.only.isdisjoint(place.gb_ids)):
                continue
            if problem := unfit(source, row, parts):
                declined.append(Declined(RULE.name, problem))
                continue
            if isinstance(ast.parse(row.after).body[0], ast.Assign) and not isinstance(source.parents[one], ast.Expr):
                continue
            text, added = written(source, row, parts, one)
            return (_mend(source, one, f"Write {text}", [*added, edits.rewrite(source, one, text)]),)
    return tuple(declined[-1:])


def _near(source: Source, node: ast.expr) -> list[ast.expr]:
    """The expression at the break and those around it."""
    found = [node]
    while len(found) <= 2 * _NEAR and isinstance(parent := source.parents[found[-1]], ast.expr):
        found.append(parent)
    return found


def _mend(source: Source, node: ast.expr, title: str, changed: list[TextEdit]) -> Mend:
    return Mend(rule=RULE.name, title=title, path=source.path, span=source.span(node), edits=tuple(changed))
