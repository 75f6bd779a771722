"""How many turns a loop takes: a tensor that counts them and its largest value, and the counter of a ``while``.

Only what the source proves: ``min(int(t), 8)``, ``t.clamp(max=8)``, the sum of a mask. Nothing is rewritten here.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

_UNKNOWN = "The source gives no largest number of iterations; write it: `range(min(int(t), 8))`."


@dataclass(frozen=True, slots=True)
class Count:
    """A loop over ``range(int(t))``. `over` is the new ``range(...)``; `tensor` is the 0-d tensor of the count.

    `name` is the variable that holds the count already ("" when it must be made), with the `edits` that make it a tensor.
    """

    loop: ast.For
    over: str
    tensor: str
    name: str = ""
    edits: tuple[TextEdit, ...] = ()
    changes: tuple[str, ...] = ()


def count_of(source: Source, node: ast.AST, statement: ast.stmt) -> Count | None:
    """The loop whose turns the read of a tensor at `node` counts; None when the read is for something else.

    Raises:
        Refused: when no largest number is known, or the count is used elsewhere too.
    """
    loop, top = _range_around(source, node)
    if loop is not None and top is not None:
        taken = _taken(source, top)
        if taken is None:
            return None
        tensor, bound = taken
        return Count(loop, _over(source, loop, top, bound), _integer(source, tensor), changes=_told(source, tensor))
    if not (isinstance(statement, ast.Assign) and isinstance(node, ast.Call) and len(statement.targets) == 1):
        return None
    target = statement.targets[0]
    function = source.function(statement)
    if not isinstance(target, ast.Name) or function is None:
        return None
    uses = [
        one for one in walk(function)
        if isinstance(one, ast.Name) and one.id == target.id and isinstance(one.ctx, ast.Load)
    ]  # fmt: skip
    ranges = [_range_around(source, one) for one in uses]
    if not any(loop is not None for loop, _ in ranges):
        return None
    loop, top = ranges[0]
    if len(uses) != 1 or loop is None or top is None:
        raise Refused(f"`{target.id}` counts more than iterations.")
    if source.block(statement) is not source.block(loop):
        raise Refused(f"`{target.id}` is set in another block than the loop it counts for.")
    taken = _taken(source, statement.value)
    if taken is None:
        return None
    tensor, bound = taken
    if top is not uses[0]:
        outer = _outer_bound(source, top, uses[0])
        bound = outer or bound
    made = edits.rewrite(source, statement.value, _integer(source, tensor))
    return Count(loop, _over(source, loop, top, bound), "", target.id, (made,), _told(source, tensor))


def split_test(kinds: Kinds, loop: ast.While) -> tuple[list[ast.expr], list[ast.expr]]:
    """The conjuncts of a ``while``'s test that are Python's, and those that are tensors.

    Raises:
        Refused: when the parts cannot be told apart.
    """
    parts = loop.test.values if isinstance(loop.test, ast.BoolOp) and isinstance(loop.test.op, ast.And) else [loop.test]
    static = [one for one in parts if kinds.of(one) != "tensor"]
    return static, [one for one in parts if kinds.of(one) == "tensor"]


def counter_of(source: Source, loop: ast.While, static: Sequence[ast.expr]) -> str:
    """The Python number that is counted up to a bound in every turn of a ``while``; "" when there is none."""
    for test in static:
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)):
            continue
        up = isinstance(test.ops[0], (ast.Lt, ast.LtE))
        if not up and not isinstance(test.ops[0], (ast.Gt, ast.GtE)):
            continue
        name, bound = test.left.id, test.comparators[0]
        steps = [one for one in walk(loop) if isinstance(one, ast.stmt) and one is not loop and _sets(one, name)]
        start = last_value(source, name, loop)
        if len(steps) != 1 or steps[0] not in loop.body or not isinstance(start, ast.Constant):
            continue
        stays = not (loaded(bound) & frozenset(one for statement in loop.body for one in assigned(statement)))
        skipped = any(isinstance(one, ast.Continue) for one in walk(loop))
        if stays and not skipped and isinstance(start.value, int) and _step(steps[0], up):
            return name
    return ""


def _sets(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.With)) and any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
        for one in ast.iter_child_nodes(statement)
        if not isinstance(one, ast.stmt)
    )


def _step(statement: ast.stmt, up: bool) -> bool:
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.value, ast.Constant):
        return False
    value = statement.value.value
    kind = ast.Add if up else ast.Sub
    return isinstance(statement.op, kind) and isinstance(value, int) and value > 0


def _range_around(source: Source, node: ast.AST) -> tuple[ast.For | None, ast.expr | None]:
    """The loop over ``range(...)`` whose stop contains the node, and that stop."""
    below = node
    for one in source.ancestors(node):
        if isinstance(one, ast.For) and below is one.iter:
            break
        if isinstance(one, ast.stmt):
            return None, None
        below = one
    parent = source.parents.get(below)
    if not (isinstance(parent, ast.For) and isinstance(below, ast.Call) and is_builtin(source, below.func, "range")):
        return None, None
    arguments = below.args
    if below.keywords or len(arguments) not in (1, 2):
        return None, None
    stop = arguments[-1]
    inside = any(one is node for one in walk(stop))
    return (parent, stop) if inside else (None, None)


def _over(source: Source, loop: ast.For, stop: ast.expr, bound: str) -> str:
    if not bound:
        raise Refused(_UNKNOWN)
    assert isinstance(loop.iter, ast.Call)
    return render(source, loop.iter, {stop: bound})


def _taken(source: Source, node: ast.expr) -> tuple[ast.expr, str] | None:
    """The tensor whose value an expression takes as a count, and its largest value as text ("" when unknown)."""
    if isinstance(node, ast.Call) and is_builtin(source, node.func, "min") and len(node.args) == 2:
        for one, other in (node.args, node.args[::-1]):
            inner = _taken(source, one)
            if inner is not None and _taken(source, other) is None and _is_static(source, other):
                return inner[0], render(source, other)
        return None
    if isinstance(node, ast.Call) and is_builtin(source, node.func, "int") and len(node.args) == 1:
        inner_node = node.args[0]
        inner = _taken(source, inner_node) if isinstance(inner_node, ast.Call) else None
        tensor = inner[0] if inner is not None else inner_node
        return tensor, (inner[1] if inner is not None else _largest(source, tensor, node))
    item = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"
    if item and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return node.func.value, _largest(source, node.func.value, node)
    return None


def _outer_bound(source: Source, stop: ast.expr, use: ast.expr) -> str:
    """The bound of ``range(min(n, 8))`` where `n` is the count."""
    if isinstance(stop, ast.Call) and is_builtin(source, stop.func, "min") and len(stop.args) == 2 and use in stop.args:
        other = next(one for one in stop.args if one is not use)
        return render(source, other) if _is_static(source, other) else ""
    raise Refused(f"`{render(source, stop)}` computes with the number of iterations.")


def _largest(source: Source, tensor: ast.expr, at: ast.AST) -> str:
    """The largest value of a tensor as text of a Python number; "" when the source does not say."""
    if isinstance(tensor, ast.Name):
        statement = source.statement(at)
        value = last_value(source, tensor.id, statement) if statement is not None else None
        return _largest(source, value, value) if value is not None and not _moved(source, value, at) else ""
    if not isinstance(tensor, ast.Call):
        return ""
    name = dotted(source, tensor.func) or ""
    method = tensor.func.attr if isinstance(tensor.func, ast.Attribute) else ""
    base = tensor.func.value if isinstance(tensor.func, ast.Attribute) else None
    arguments = list(tensor.args)
    if name.startswith("torch."):
        method = name.rpartition(".")[2]
        base, arguments = (arguments[0], arguments[1:]) if arguments else (None, [])
    if base is None:
        return ""
    if method in ("clamp", "clip", "clamp_max", "minimum"):
        largest = {one.arg: one.value for one in tensor.keywords}.get("max")
        if largest is None:
            index = 0 if method == "clamp_max" else 1
            largest = arguments[index] if len(arguments) > index and method != "minimum" else None
        return render(source, largest) if largest is not None and _is_static(source, largest) else ""
    if method in ("long", "int", "detach"):
        return _largest(source, base, at)
    if method in ("sum", "count_nonzero") and not arguments and not tensor.keywords:
        mask = Kinds(source).is_bool(base) or method == "count_nonzero"
        return f"{operand(_whole(source, base))}.numel()" if mask else ""
    return f"{operand(_whole(source, base))}.numel()" if method in ("argmax", "argmin") and not arguments else ""


def _whole(source: Source, mask: ast.expr) -> str:
    """A tensor with as many elements: of ``x > 0`` it is ``x``."""
    plain = isinstance(mask, ast.Compare) and len(mask.ops) == 1 and isinstance(mask.comparators[0], ast.Constant)
    return render(source, mask.left if plain and isinstance(mask, ast.Compare) else mask)


def _moved(source: Source, value: ast.expr, at: ast.AST) -> bool:
    """Whether a name that a value reads may be bound anew between the value and `at`."""
    function = source.function(at)
    begin, end = source.range(value)[1], source.range(at)[0]
    return function is None or any(
        isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id in loaded(value)
        and begin <= source.range(one)[0] < end
        for one in walk(function)
    )  # fmt: skip


def _is_static(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return Kinds(source).of(node) != "tensor"
    if isinstance(node, ast.Call) and is_builtin(source, node.func, "len"):
        return True
    return Kinds(source).of(node) == "python"


def _integer(source: Source, tensor: ast.expr) -> str:
    """A count as a tensor of integers, as `int` takes it."""
    text = render(source, tensor)
    if isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        kinds = Kinds(source)
        summed = tensor.func.attr == "sum" and kinds.is_bool(tensor.func.value)
        if tensor.func.attr == "numel" or summed or Scalars(source, kinds).is_integer(tensor):
            return text
    return f"{operand(text)}.long()"


def _told(source: Source, tensor: ast.expr) -> tuple[str, ...]:
    if _integer(source, tensor) == render(source, tensor):
        return ()
    return ("A count that is NaN or infinite raised an error; now the loop runs some number of iterations.",)
