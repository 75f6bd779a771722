"""Loops over experts, made to turn for all of them: the list of those that have a row, and tests for having none, go.

An iteration for an expert without rows gathers nothing and puts nothing back, so it may as well be made. Texts in, texts out.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from graphmend_lsp.mending.facts.planes import planes_with_some
from graphmend_lsp.mending.lowering.counted import indices
from graphmend_lsp.mending.rules.rows.list import Selection, names
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit
from graphmend_lsp.text import apply_edits


def over_all(source: Source, node: ast.AST) -> str | None:
    """The text with a loop over the experts that have a row made one over all experts; None when the break is no such list.

    The mask is ``m``: a plane for each expert. The loop is over the numbers of the planes that hold anything, as
    ``(m.sum(dim=(-1, -2)) > 0).nonzero(as_tuple=True)[0]`` lists them, or that with ``.tolist()``, directly or by a name that
    is used for nothing else.
    """
    found = indices(source, node)
    if found is None or (planes := planes_with_some(source, found[1])) is None:
        return None
    listed = found[0]
    if found[2]:
        parent = source.parents.get(listed)
        if not (isinstance(parent, ast.Subscript) and getattr(parent.slice, "value", None) == 0):
            return None
        listed = parent
    elif (flat := _called(source, listed, ("flatten", "squeeze", "view", "reshape"))) is not None:
        listed = flat
    else:
        return None
    listed = _called(source, listed, ("tolist",)) or listed
    place = source.parents.get(listed)
    spots: list[TextEdit] = []
    loop: ast.AST | None = place
    if isinstance(place, ast.Assign) and [type(one) for one in place.targets] == [ast.Name]:
        name = place.targets[0].id  # type: ignore[attr-defined]
        function = source.function(place)
        uses = [one for one in names(function, name) if one is not place.targets[0]] if function is not None else []
        loop = source.parents.get(uses[0]) if len(uses) == 1 else None
        if not isinstance(loop, ast.For) or loop.iter is not uses[0]:
            raise Refused(f"`{name}` is not used only by a loop over it.")
        spots.append(edits.remove(source, place))
        listed = uses[0]
    if not isinstance(loop, ast.For) or loop.iter is not listed or not isinstance(loop.target, ast.Name):
        return None
    if loop.orelse or not _reads_plane(loop, planes):
        raise Refused(f"The loop does more than gather the rows of `{planes}[{loop.target.id}]`.")
    _refuse_more(source, loop.body, frozenset({loop.target.id}))
    spots.append(edits.rewrite(source, loop.iter, f"range(len({planes}))"))
    return apply_edits(source.text.value, spots)


def without_emptiness(source: Source, chosen: Selection) -> tuple[str, ast.expr] | None:
    """The text without the first test in which the list's length decides whether rows are computed, and the test."""
    function = source.function(chosen.statement)
    for one in walk(function) if function is not None else ():
        if not isinstance(one, ast.If) or not chosen.mentions(one.test):
            continue
        some = _asks_some(source, one.test, chosen)
        if some is None or one.orelse:
            continue
        leaves = isinstance(one.body[0], ast.Continue) and len(one.body) == 1
        if not some and leaves:
            _refuse_more(source, source.after(one))
            return apply_edits(source.text.value, [edits.remove(source, one)]), one.test
        if some and not any(isinstance(part, (ast.Break, ast.Continue, ast.Return)) for part in walk(one)):
            _refuse_more(source, one.body)
            return _opened(source, one), one.test
    return None


def _refuse_more(source: Source, block: Sequence[ast.stmt], bound: frozenset[str] = frozenset()) -> None:
    """Refuse unless all that a block does is to gather rows, compute with them and put them back.

    Run without rows it then changes nothing: no name of it (nor of `bound`) is read outside of it, or before it is set.
    """
    function = source.function(block[0])
    inside = {id(one) for statement in block for one in walk(statement)}
    set_here = set(bound)
    for statement in block:
        if isinstance(statement, ast.If) and not statement.orelse:
            if not isinstance(statement.body[0], ast.Continue):
                _refuse_more(source, statement.body)
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
        called = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
        adds = called in ("index_add", "index_add_", "index_copy", "index_copy_")
        stored = target if target is not None else getattr(statement, "target", None)
        puts = isinstance(stored, ast.Subscript) or (isinstance(statement, ast.Expr) and adds)
        noted = isinstance(value, ast.Constant)
        if not (puts or noted or (isinstance(statement, ast.Assign) and not any(_stores_parts(statement)))):
            raise Refused(f"Line {statement.lineno} would also run where no row is chosen.")
        set_here |= frozenset() if adds else assigned(statement)
    for name in sorted(set_here):
        for one in names(function, name) if function is not None else ():
            if isinstance(one.ctx, ast.Load) and (id(one) not in inside or _is_early(one, block, name, bound)):
                raise Refused(f"Line {one.lineno}: `{name}` would also be set where no row is chosen.")


def _stores_parts(statement: ast.Assign) -> Iterator[bool]:
    """For each target whether it is anything but names."""
    for target in statement.targets:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        yield not all(isinstance(one, ast.Name) for one in parts)


def _is_early(read: ast.Name, block: Sequence[ast.stmt], name: str, bound: frozenset[str]) -> bool:
    """Whether a name is read in a block where the block has not set it yet."""
    if name in bound:
        return False
    for statement in block:
        if read in walk(statement):
            return not isinstance(statement, ast.If)
        if name in assigned(statement):
            return False
    return True


def _opened(source: Source, choice: ast.If) -> str:
    """The text with the body of an ``if`` in its place."""
    first, last = choice.body[0], choice.body[-1]
    if not source.starts_line(first) or not source.starts_line(choice) or _has_long_text(choice):
        raise Refused(f"Line {choice.lineno}: the test for rows cannot be taken away without moving text.")
    lines = source.text.value.splitlines(keepends=True)
    begin, end = choice.test.end_lineno or choice.lineno, last.end_lineno or last.lineno
    body = textwrap.dedent("".join(lines[begin:end]))
    indent = source.indentation(choice)
    moved = "".join(indent + line if line.strip() else line for line in body.splitlines(keepends=True))
    return "".join([*lines[: choice.lineno - 1], moved, *lines[end:]])


def _has_long_text(choice: ast.If) -> bool:
    return any(isinstance(one, (ast.Constant, ast.JoinedStr)) and one.lineno != one.end_lineno for one in walk(choice))


def _asks_some(source: Source, test: ast.expr, chosen: Selection) -> bool | None:
    """Whether a test asks for some row (True) or for none (False); None for another test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asks_some(source, test.operand, chosen)
        return None if inner is None else not inner
    if _is_length(source, test, chosen):
        return True
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_length(source, test.left, chosen):
        return None
    bound, op = getattr(test.comparators[0], "value", None), test.ops[0]
    if (bound == 0 and isinstance(op, (ast.Gt, ast.NotEq))) or (bound == 1 and isinstance(op, ast.GtE)):
        return True
    if (bound == 0 and isinstance(op, (ast.Eq, ast.LtE))) or (bound == 1 and isinstance(op, ast.Lt)):
        return False
    return None


def _is_length(source: Source, node: ast.expr, chosen: Selection) -> bool:
    """Whether an expression is the list's length: ``len(i)``, ``i.numel()``, ``i.shape[0]``, ``i.size(0)``."""
    if not chosen.lists:
        return False
    listed: ast.expr | None = None
    if isinstance(node, ast.Call) and is_builtin(source, node.func, "len") and len(node.args) == 1:
        listed = node.args[0]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = [getattr(one, "value", None) for one in node.args]
        if (node.func.attr in ("numel", "nelement") and not first) or (node.func.attr == "size" and first == [0]):
            listed = node.func.value
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        listed = node.value.value if getattr(node.slice, "value", None) == 0 else None
    return isinstance(listed, ast.Name) and listed.id in (chosen.rows, chosen.others)


def _reads_plane(loop: ast.For, planes: str) -> bool:
    """Whether the body lists the rows of the loop's own plane of the mask."""
    target = loop.target
    return any(
        isinstance(one, ast.Subscript)
        and isinstance(one.value, ast.Name)
        and one.value.id == planes
        and isinstance(one.slice, ast.Name)
        and isinstance(target, ast.Name)
        and one.slice.id == target.id
        for statement in loop.body
        for one in walk(statement)
    )


def _called(source: Source, node: ast.expr, methods: tuple[str, ...]) -> ast.expr | None:
    """The call of one of the methods on a node."""
    parent = source.parents.get(node)
    call = source.parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in methods else None
    return call if isinstance(call, ast.Call) and call.func is parent else None
