"""Which of the statements of an operator may give other sizes for other data. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from graphmend_lsp.mending.facts.bindings import KEEPERS
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.opaque.callee import called_here
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk

_OF_DATA = frozenset(("nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "bincount"))
_MADE = frozenset((
    "arange", "linspace", "zeros", "ones", "empty", "full", "rand", "randn", "eye", "new_zeros", "new_ones", "new_empty",
    "new_full",
))  # fmt: skip
"""What takes sizes alone, so that a tensor among them is a number that is read."""
_SIZED = _MADE | frozenset((
    "split", "tensor_split", "split_with_sizes", "narrow", "repeat", "tile", "expand", "view", "reshape",
    "resize_", "as_strided", "unfold", "chunk", "topk", "pad",
))  # fmt: skip
_GROWING = frozenset(
    ("append", "extend", "insert", "cat", "concat", "stack", "hstack", "vstack", "pad", "squeeze", "repeat")
)
_DEEP = 3
_SHAPES = frozenset(("shape", "size", "dim", "ndim", "numel"))


def follows_data(source: Source, statements: Sequence[ast.stmt], depth: int = 0) -> ast.expr | None:
    """The first expression whose size may follow from values of tensors; None when there is none.

    A call of a function of the file is such an expression where its statements hold one.
    """
    for one in (node for statement in statements for node in walk(statement)):
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load) and _cuts(source, one):
            return one
        if isinstance(one, ast.Call):
            name = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            given = [*one.args, *(each.value for each in one.keywords)]
            tensors = name not in _MADE
            if _lists_by_data(one) or (
                name in _SIZED and not all(is_fixed(source, each, tensors=tensors) for each in given)
            ):
                return one
            if name in _GROWING and _in_counted_loop(source, one, statements):
                return one
            if name == "repeat_interleave" and _repeats_by_data(source, one):
                return one
            called = called_here(source, one) if depth < _DEEP else None
            if called is not None and follows_data(source, called.body, depth + 1) is not None:
                return one
        if isinstance(one, ast.expr) and _is_long_by_data(source, one):
            return one
    return None


def _repeats_by_data(source: Source, call: ast.Call) -> bool:
    """Whether how often elements are repeated may stand in a tensor."""
    keywords = {one.arg: one.value for one in call.keywords}
    of_torch = dotted(source, call.func) == "torch.repeat_interleave"
    times = keywords.get("repeats", next(iter(call.args[of_torch:]), None))
    return "output_size" not in keywords and times is not None and not is_fixed(source, times, tensors=False)


def _is_long_by_data(source: Source, one: ast.expr) -> bool:
    """Whether an expression gives a list whose length follows from data: ``[0] * n``, ``[i for i in range(n)]``."""
    if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
        sides = (one.left, one.right)
        listed = any(isinstance(each, (ast.List, ast.ListComp)) for each in sides)
        return listed and not all(isinstance(each, ast.List) or is_fixed(source, each, tensors=False) for each in sides)
    if isinstance(one, (ast.ListComp, ast.GeneratorExp)):
        return any(each.ifs or _is_counted(source, each.iter) for each in one.generators)
    return False


def _is_counted(source: Source, iterated: ast.expr) -> bool:
    """Whether a loop goes over a range whose length may follow from data."""
    ranged = isinstance(iterated, ast.Call) and is_builtin(source, iterated.func, "range")
    return ranged and isinstance(iterated, ast.Call) and not all(is_fixed(source, each) for each in iterated.args)


def is_sized_by_data(statement: ast.stmt) -> bool:
    """Whether a statement calls what gives a tensor whose size values decide."""
    return any(isinstance(one, ast.Call) and _lists_by_data(one) for one in walk(statement))


def _lists_by_data(call: ast.Call) -> bool:
    """Whether a call gives as many elements as values decide: ``nonzero``, ``unique``, ``where`` with a condition alone."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _OF_DATA or (name == "where" and len(call.args) + len(call.keywords) == 1)


def feeding(statements: Sequence[ast.stmt], text: str) -> list[ast.stmt]:
    """Those of the statements that what an expression gives behind them may come from."""
    names = {one.id for one in walk(ast.parse(text, mode="eval")) if isinstance(one, ast.Name)}
    found: list[ast.stmt] = []
    while more := [one for one in statements if one not in found and names & (assigned(one) | _filled(one))]:
        found += more
        names |= {name for one in more for name in loaded(one)}
    return [one for one in statements if one in found or isinstance(one, ast.Return)]


def _filled(statement: ast.stmt) -> frozenset[str]:
    """The names of what a statement may put something into."""
    nodes = list(walk(statement))
    kept = [one.value for one in nodes if isinstance(one, ast.Attribute) and one.attr in KEEPERS]
    changed = frozenset(name for one in nodes for name in changed_by(one))
    return changed | {one.id for one in kept if isinstance(one, ast.Name)}


def _cuts(source: Source, one: ast.Subscript) -> bool:
    """Whether an index chooses a part whose size follows from data: by a mask, by bounds that are computed, again and again."""
    parts = one.slice.elts if isinstance(one.slice, ast.Tuple) else [one.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            bounds = [each for each in (part.lower, part.upper, part.step) if each is not None]
            if not all(is_fixed(source, each) for each in bounds):
                return True
            if bounds and any(isinstance(each, (ast.While, ast.For)) for each in source.ancestors(one)):
                return True
        elif Kinds(source).is_bool(part) or was_mask(source, part):
            return True
    return False


def was_mask(source: Source, index: ast.expr) -> bool:
    """Whether an index was a tensor of booleans in a run."""
    fact = Seen(source).tensor(index)
    return fact is not None and fact.dtypes == ("bool",)


def is_fixed(source: Source, node: ast.expr, numbers: Collection[str] = (), *, tensors: bool = True) -> bool:
    """Whether a value is made of constants, shapes, the names `numbers` and, with `tensors`, of tensors as they are.

    So it holds no number that may be read from a tensor.
    """
    if isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp)):
        parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return all(is_fixed(source, one, numbers, tensors=tensors) for one in parts)
    if isinstance(node, ast.Subscript):
        shape = isinstance(node.value, ast.Attribute) and node.value.attr in _SHAPES
        return shape and _reads_nothing(source, node.slice)
    if isinstance(node, ast.Attribute):
        return node.attr in (*_SHAPES, "dtype", "device") or (dotted(source, node) or "").startswith("torch.")
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = [*node.args, *(one.value for one in node.keywords)]
        sized = called in _SHAPES and all(_reads_nothing(source, one) for one in given)
        return sized or is_builtin(source, node.func, "len")
    return isinstance(node, ast.Name) and (node.id in numbers or (tensors and Kinds(source).of(node) == "tensor"))


def _reads_nothing(source: Source, index: ast.expr) -> bool:
    """Whether what chooses among sizes is no number read from a tensor: ``x.shape[dim]``, not ``x.shape[n[0]]``."""
    if isinstance(index, (ast.Name, ast.Attribute)):
        return Kinds(source).of(index) != "tensor"
    if isinstance(index, (ast.Subscript, ast.Call)):
        return is_fixed(source, index, tensors=False)
    return all(_reads_nothing(source, one) for one in ast.iter_child_nodes(index) if isinstance(one, ast.expr))


def _in_counted_loop(source: Source, node: ast.AST, statements: Sequence[ast.stmt]) -> bool:
    """Whether a node stands in a loop of the statements whose number of turns may follow from data."""
    inside = {id(one) for statement in statements for one in walk(statement)}
    for one in source.ancestors(node):
        if id(one) not in inside:
            return False
        if isinstance(one, ast.While):
            return True
        if isinstance(one, ast.For):
            leaves = any(isinstance(each, (ast.Break, ast.Continue, ast.Return)) for each in walk(one))
            unlike = any(isinstance(each, ast.If) for each in walk(one)) and _puts(one.body, node) is None
            if leaves or unlike or _is_counted(source, one.iter):
                return True
    return False


def _puts(block: Sequence[ast.stmt], node: ast.AST) -> int | None:
    """How often statements append to the list that a call appends to, whatever their tests say; None where that may differ."""
    called = node.func if isinstance(node, ast.Call) else None
    if not (isinstance(called, ast.Attribute) and called.attr == "append" and isinstance(called.value, ast.Name)):
        return None
    number = 0
    for one in block:
        if isinstance(one, ast.If):
            sides = _puts(one.body, node), _puts(one.orelse, node)
            if None in sides or sides[0] != sides[1]:
                return None
            number += sides[0] or 0
        else:
            found = sum(_names_list(each, called.value.id) for each in walk(one))
            if found and not isinstance(one, ast.Expr):
                return None
            number += found
    return number


def _names_list(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
