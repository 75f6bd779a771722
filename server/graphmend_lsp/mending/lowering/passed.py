"""What a captured number must not pass: what Python and a graph do not do alike, in all functions on its way out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.mending.facts.arithmetic import Arithmetic
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.outermost import Outermost
from graphmend_lsp.mending.syntax.refused import Refused


def cautions_of(
    place: Place, found: Outermost, starts: frozenset[ast.AST], apart: frozenset[ast.AST] = frozenset()
) -> tuple[str, ...]:
    """What must be said of what is done with captured numbers; what stands inside of `apart` is none of it.

    Raises:
        Refused: where Python raises for some numbers and a graph does not.
    """
    product = whole = asserted = None
    for one in _arithmetic(place, found, starts, apart):
        if (node := one.raising()) is not None:
            words = (
                "raises for some numbers in Python, and gives something else or ends the process when it is captured"
            )
            raise Refused(f"Line {getattr(node, 'lineno', 0)}: `{one.source.code(node)}` {words}.")
        product, whole, asserted = product or one.product(), whole or one.whole(), asserted or one.asserted()
    told = []
    if product is not None:
        line = getattr(product, "lineno", 0)
        told.append(f"Line {line}: a product of whole numbers beyond 64 bits is another one.")
    if whole is not None:
        line = getattr(whole, "lineno", 0)
        told.append(f"Line {line}: `int` of NaN or infinity raises, and gives a number under inductor.")
    if asserted is not None:
        line = getattr(asserted, "lineno", 0)
        told.append(f"Line {line}: where the `assert` fails, compiled code raises RuntimeError, not AssertionError.")
    return tuple(told)


def _arithmetic(
    place: Place, found: Outermost, starts: frozenset[ast.AST], apart: frozenset[ast.AST]
) -> Iterator[Arithmetic]:
    """The functions that the number passes, from the break's own to the outermost one."""
    source, function = place.source, place.function
    assert function is not None
    yield Arithmetic(source, function, starts, apart)
    frames = [one for one in place.request.site.chain if one.kind == "code"]
    for one, outer in ((found.source, found.function), *found.between):
        if outer is not function:
            calls = [one.node_at(frame.span) for frame in frames if frame.path == one.path]
            own = frozenset(node for node in calls if node is not None and one.function(node) is outer)
            yield Arithmetic(one, outer, own)
