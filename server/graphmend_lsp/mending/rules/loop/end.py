"""What follows a masked loop: its ``else``, and what was returned from inside it.

Nothing here decides which loops are mended.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.liveness import Loop
from graphmend_lsp.mending.lowering.choice_values import Leaf, Value, Writer, refuse_hazards, refuse_value
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.lowering.lines import Lines, wrapped
from graphmend_lsp.mending.lowering.merge import choose, merge
from graphmend_lsp.mending.rules.loop.body import Body
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


def returned(loop: Loop) -> frozenset[str]:
    """The names that values returned from inside a loop read: they are read behind it after the mend."""
    return frozenset(
        name
        for one in walk(loop)
        if isinstance(one, ast.Return) and one.value is not None
        for name in loaded(one.value)
    )


def else_lines(body: Body, test: Test) -> list[TextEdit]:
    """The edits that put a loop's ``else`` behind it, where the mask is not set.

    Raises:
        Refused: for what cannot run when the loop was left.
    """
    loop, source = body.loop, body.source
    if not loop.orelse:
        return []
    lowering = body.lowering()
    lowering.local = None
    items = merge(lowering, test, [], lowering.block(loop.orelse))
    if any(item.returns for item in items):
        raise Refused("The loop's `else` returns; put the return after the loop.")
    lines, guarded = Lines(source, body.kinds, body.where).lines(items, body.double)
    body.guarded = body.guarded or guarded
    start = edits.end_of_line(source, source.range(loop.body[-1])[1])
    last_start, end = source.range(loop.orelse[0])[0], source.range(loop.orelse[-1])[1]
    if any(comment.own_line for comment in edits.comments(source, start, last_start)):
        raise Refused("A comment stands at the loop's `else`; move it.")
    indent = source.indentation(loop)
    text = "".join(source.newline + indent + line for line in wrapped(source, loop, lines))
    return [TextEdit(source.path, source.between(start, end), text)]


def behind(body: Body, test: Test) -> list[TextEdit]:
    """The edits at the function's last return: it gives what the loop returned when the mask is set.

    Raises:
        Refused: when more than assignments and one return stand behind the loop.
    """
    source, loop = body.source, body.loop
    texts = {ast.dump(one) for one in body.returned}
    if len(texts) > 1 or any(isinstance(one, ast.Break) for one in walk(loop)):
        raise Refused("The loop ends in more than one way; return one value from it, or break.")
    if loop.orelse:
        raise Refused("The loop returns and has an `else`; put what it does after the loop.")
    rest = source.after(loop)
    final = rest[-1] if rest else None
    early = body.returned[0].value
    if not isinstance(final, ast.Return) or final.value is None or early is None:
        raise Refused("The loop returns, and the function does not end with a return right behind it.")
    for one in rest[:-1]:
        if not (isinstance(one, ast.Assign) and all(isinstance(target, ast.Name) for target in one.targets)):
            raise Refused("The loop returns, and more than assignments of names and a return follows it.")
        if assigned(one) & loaded(early):
            raise Refused(f"`{source.code(one)}` changes what the loop returned.")
        refuse_hazards(source, one.value, body.changes)
    own = assigned(loop.target) if isinstance(loop, ast.For) else frozenset()
    if loaded(early) & own:
        raise Refused("The value that is returned from the loop reads the loop's own variable.")
    first, second = _parts(early), _parts(final.value)
    if len(first) != len(second) or isinstance(early, ast.Tuple) != isinstance(final.value, ast.Tuple):
        raise Refused("The two returns give different numbers of values.")
    lowering = body.lowering()
    writer = Writer(source, body.kinds, body.where, body.double)
    written: list[str] = []
    for then, other in zip(first, second, strict=True):
        for value in (then, other):
            refuse_value(source, body.kinds, value, body.changes)
        chosen: Value = choose(lowering, test, Leaf(then), Leaf(other), None)
        written.append(writer.text(chosen))
    body.guarded = body.guarded or writer.guarded
    tail = "," if isinstance(early, ast.Tuple) and len(written) == 1 else ""
    return [edits.replace(source, final, final, wrapped(source, final, [f"return {', '.join(written)}{tail}"]))]


def _parts(value: ast.expr) -> list[ast.expr]:
    return list(value.elts) if isinstance(value, ast.Tuple) else [value]
