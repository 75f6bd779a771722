"""Values that the program already knows in Python: sizes that were put in a tensor are not read back from it.

What it does
------------
A tensor that is made of Python integers (``torch.tensor(x.shape)``, ``torch.as_tensor(sizes, dtype=torch.long)``) and never
changed still holds those integers. Where its values are needed in Python (a condition, ``int``, ``.item()``,
``.tolist()``, the turns of a loop), the mend computes them from the integers themselves. When a tensor and its list are
always handed on together, the list is used in the functions that are called too.

Why it costs
------------
To Dynamo a tensor's values are data: reading them ends the graph, although they are the same in every call.

Safety
------
Only integer arithmetic that is exact in both forms is rewritten. That a parameter holds what its list holds is read from all
calls in the file; the mend names callers in other files.

When it is refused
------------------
When the tensor may hold fractions, is written in place, its list changes in between, or a call in the file hands on one without
the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.mending.rules.known import RULE
from graphmend_lsp.mending.rules.known.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.known.loop import turns
from graphmend_lsp.mending.rules.known.mirror import mirror_of, told_of, wraps
from graphmend_lsp.mending.rules.known.python import Writer, python_of
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a read of known integers; empty when the break reads other values."""
    source = place.source
    node = place.node
    if node is None:
        return ()
    if isinstance(node, (ast.If, ast.While)):
        node = node.test
    if not isinstance(node, ast.expr):
        return ()
    looped = turns(source, node)
    if looped is not None:
        return (_mend(source, node, *looped),)
    target = next((one for one in _outwards(source, node) if _reads_known(source, one)), None)
    if target is None:
        return ()
    if wraps(source, target):
        raise Refused(f"`{render(source, target)}` is computed in int32, which wraps where Python's integers do not.")
    value, writer = python_of(source, target)
    parent = source.parents.get(target)
    inside = isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp))
    compound = isinstance(target, (ast.BinOp, ast.Compare))
    text = operand(value.text) if inside and not compound else value.text
    return (_mend(source, target, [*writer.added, edits.rewrite(source, target, text)], _told(writer)),)


def _outwards(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions around a break that may be its value in Python, innermost first: it, ``int(it)``, ``it.item()``."""
    yield node
    parent = source.parents.get(node)
    while isinstance(parent, (ast.Attribute, ast.Call, ast.Compare)):
        if isinstance(parent, (ast.Call, ast.Compare)):
            yield parent
        parent = source.parents.get(parent)


def _reads_known(source: Source, node: ast.expr) -> bool:
    """Whether an expression gives a Python value of a tensor whose integers are known."""
    reads = isinstance(node, ast.Compare) or (
        isinstance(node, ast.Call)
        and (
            getattr(node.func, "id", "") in ("int", "bool")
            or getattr(node.func, "attr", "") in ("item", "tolist", "__int__")
        )
    )
    return reads and any(isinstance(one, ast.expr) and mirror_of(source, one) is not None for one in walk(node))


def _told(writer: Writer) -> tuple[str, ...]:
    handed = dict.fromkeys(one.text for one in writer.used if one.handed)
    return tuple(told_of(text) for text in handed)


def _mend(source: Source, node: ast.expr, spots: list[TextEdit], changes: tuple[str, ...]) -> Mend:
    return Mend(
        rule=RULE.name,
        title=f"Take `{_short(render(source, node))}` from the Python values",
        path=source.path,
        span=source.span(node),
        edits=tuple(spots),
        changes=changes,
    )


def _short(text: str) -> str:
    return text if len(text) <= 32 else text[:29] + "..."
