"""What a side of ``torch.cond`` may hold, and which names go in and come out. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.endings import leaving, sets
from graphmend_lsp.mending.kinds import Kinds
from graphmend_lsp.mending.purity import hazards
from graphmend_lsp.mending.source import Source, assigned, loaded
from graphmend_lsp.mending.where_condition import Refused
from graphmend_lsp.mending.where_merge import first_line
from graphmend_lsp.mending.where_names import KEEPERS, VIEWS, is_bound
from graphmend_lsp.mending.where_text import render

_LOGGING = frozenset(("log", "debug", "info", "warning", "error", "write", "put", "pop", "remove", "clear", "discard"))


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a branch. `operands` are the names that go in as parameters, `results` those that come out.

    A side that returns has no results: its returned value comes out. `calls_modules` says that a side calls something of
    ``self``, of which the text does not tell whether it draws random numbers in training.
    """

    then: Sequence[ast.stmt]
    other: Sequence[ast.stmt]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    returns: bool
    calls_modules: bool


def sides_of(source: Source, kinds: Kinds, at: ast.If, other: Sequence[ast.stmt], *, returns: bool) -> Sides:
    """The sides of an ``if``; `other` is what runs when its test is false, `returns` whether both end by returning.

    Raises:
        Refused: with the reason, for what ``torch.cond`` cannot hold.
    """
    for side in (at.body, other):
        for statement in side:
            _refuse_statement(source, kinds, statement, side)
    results = () if returns else _results(source, kinds, at, other)
    operands: list[str] = []
    for side in (at.body, other):
        own = _assigned_in(side)
        for name in sorted(own):
            reads = _reads_first(side, name)
            kept = name in results and not all(name in _surely(source, one) for one in (at.body, other))
            if is_bound(source, name, at):
                operands += [name] if (reads or kept) and name not in operands else []
            elif reads:
                raise Refused(f"`{name}` may have no value before the `if`; give it one.")
            elif name in results and name not in _surely(source, side):
                raise Refused(f"`{name}` may have no value behind the `if`; give it one before.")
    modules = any(calls_own(source, one) for side in (at.body, other) for one in side)
    return Sides(at.body, other, tuple(operands), results, returns, modules)


def calls_own(source: Source, node: ast.AST) -> bool:
    """Whether a node calls something of ``self``, or what a loop takes from it: a submodule, or a method of the class."""
    return any(
        isinstance(one, ast.Call)
        and (
            _is_own(one.func) or any(hazard.kind == "compute" and hazard.node is one for hazard in hazards(source, one))
        )
        for one in ast.walk(node)
    )


def refuse_value(source: Source, kinds: Kinds, node: ast.expr) -> None:
    """Refuse what is surely no tensor, or has an effect or chance in it.

    Raises:
        Refused: with the reason.
    """
    text = render(source, node)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    for part in parts:
        if kinds.of(part) == "python" or isinstance(part, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            raise Refused(
                f"One side gives `{render(source, part)}`, which is no tensor; `torch.cond` gives tensors only."
            )
    for one in ast.walk(node):
        if isinstance(one, ast.IfExp) and kinds.of(one.test) == "tensor":
            raise Refused(f"A side tests a tensor again, in `{text}`; `torch.cond` cannot hold a second break.")
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in ("locals", "super", "print"):
            raise Refused(f"`{render(source, one)}` means something else, or is lost, inside `torch.cond`.")
        if isinstance(one, ast.Attribute) and one.attr in ("item", "tolist") and source.code(node):
            raise Refused(f"A side reads a number from a tensor, in `{text}`; `torch.cond` cannot hold a second break.")
    for hazard in hazards(source, node):
        words = f"`{render(source, hazard.node)}` {hazard.words}"
        if hazard.kind == "random":
            raise Refused(f"{words}; `torch.cond` draws others for the gradient.")
        if hazard.kind == "effect" and not _may_be_module(hazard.node):
            raise Refused(f"{words}; a side of `torch.cond` may only compute.")


def alias(node: ast.expr) -> bool:
    """Whether an expression may be a tensor that there is already, or a view of it, which no side may give."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in VIEWS or node.func.attr in ("contiguous", "to", "float", "type", "reshape", "unfold")
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def tails(statements: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Every ``return`` of a side."""
    for statement in statements:
        yield from (one for one in leaving(statement) if isinstance(one, ast.Return))


def _refuse_statement(source: Source, kinds: Kinds, one: ast.stmt, side: Sequence[ast.stmt]) -> None:
    line = first_line(source, one)
    if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
        for target in targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            if not all(isinstance(part, ast.Name) for part in parts):
                raise Refused(f"`{line}` changes what is outside of its side; `torch.cond` only gives values back.")
        if isinstance(one, ast.AugAssign) and not _made_before(side, one):
            raise Refused(f"`{line}` changes a tensor in place; write it as an assignment of a new value.")
        if one.value is not None:
            _refuse_inside(source, kinds, one.value)
    elif isinstance(one, ast.Return):
        if one.value is None:
            raise Refused("One side returns nothing.")
        refuse_value(source, kinds, one.value)
    elif isinstance(one, ast.For):
        _refuse_inside(source, kinds, one.iter)
        for inner in (*one.body, *one.orelse):
            _refuse_statement(source, kinds, inner, one.body)
    elif isinstance(one, ast.If):
        if kinds.of(one.test) == "tensor":
            raise Refused(
                f"A side tests a tensor again, in `{render(source, one.test)}`; `torch.cond` cannot hold a second break."
            )
        _refuse_inside(source, kinds, one.test)
        for inner in (*one.body, *one.orelse):
            _refuse_statement(source, kinds, inner, side)
    elif isinstance(one, (ast.Break, ast.Continue)):
        if not any(isinstance(around, ast.For) and around in _walk(side) for around in source.ancestors(one)):
            raise Refused("A side leaves a loop; when it does depends on data.")
    elif not (isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))):
        raise Refused(f"A side contains `{line}`; a side of `torch.cond` may only compute.")


def _refuse_inside(source: Source, kinds: Kinds, value: ast.expr) -> None:
    """The same for a value that stays inside its side: it may be a Python value."""
    if kinds.of(value) == "python":
        for hazard in hazards(source, value):
            if hazard.kind in ("effect", "random") and not _may_be_module(hazard.node):
                raise Refused(
                    f"`{render(source, hazard.node)}` {hazard.words}; a side of `torch.cond` may only compute."
                )
        return
    plain = value.elts if isinstance(value, ast.Tuple) else [value]
    for part in plain:
        if kinds.of(part) != "python":
            refuse_value(source, kinds, part)


def _results(source: Source, kinds: Kinds, at: ast.If, other: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names that the sides assign and that are used outside of the branch, in the order of the text."""
    function = source.function(at)
    inside = {id(node) for side in (at.body, other) for one in side for node in ast.walk(one)}
    outside = [node for node in (ast.walk(function) if function is not None else ()) if id(node) not in inside]
    used = {node.id for node in outside if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    used |= {
        node.target.id for node in outside if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    if any(
        isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in source.ancestors(at)
    ):  # the next turn reads it
        used |= {name for side in (at.body, other) for name in _assigned_in(side) if _reads_first(side, name)}
    for node in ast.walk(function or at):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and set(node.names) & (
            _assigned_in(at.body) | _assigned_in(other)
        ):
            raise Refused(f"`{first_line(source, node)}`: a side of `torch.cond` cannot set what is not local.")
    found: dict[str, None] = {}
    for side in (at.body, other):
        own = _assigned_in(side) & used
        for node in _walk(side):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in own:
                found[node.id] = None
            if isinstance(node, ast.Assign) and any(
                isinstance(one, ast.Name) and one.id in own for one in node.targets
            ):
                refuse_value(source, kinds, node.value)
    if not found:
        raise Refused("Neither side stores or returns anything that could come out of `torch.cond`.")
    for name in found:
        for side in (at.body, other):
            if name not in _assigned_in(side) and not is_bound(source, name, at):
                raise Refused(f"`{name}` may have no value when its side is not taken; give it one before the `if`.")
    return tuple(found)


def _assigned_in(side: Sequence[ast.stmt]) -> frozenset[str]:
    return frozenset(name for one in side for name in assigned(one))


def _surely(source: Source, side: Sequence[ast.stmt]) -> frozenset[str]:
    return frozenset(name for one in side for name in sets(source, one))


def _reads_first(side: Sequence[ast.stmt], name: str) -> bool:
    """Whether a side may read a name before it has given it a value."""
    for one in side:
        if isinstance(one, ast.For):
            if name in loaded(one.iter) or (name not in assigned(one.target) and _reads_first(one.body, name)):
                return True
        elif isinstance(one, ast.If):
            if name in loaded(one.test) or _reads_first(one.body, name) or _reads_first(one.orelse, name):
                return True
            if one.orelse and name in _assigned_in(one.body) & _assigned_in(one.orelse):
                return False
        elif isinstance(one, ast.AugAssign) and name in assigned(one.target):
            return True
        elif isinstance(one, (ast.Assign, ast.AnnAssign)):
            if one.value is not None and name in loaded(one.value):
                return True
            if name in assigned(one):
                return False
        elif name in loaded(one):
            return True
    return False


def _made_before(side: Sequence[ast.stmt], one: ast.AugAssign) -> bool:
    """Whether the side gives the name a value before it changes what the name holds."""
    if not isinstance(one.target, ast.Name) or one not in side:
        return False
    before = side[: list(side).index(one)]
    return any(
        isinstance(earlier, ast.Assign)
        and not alias(earlier.value)
        and any(isinstance(target, ast.Name) and target.id == one.target.id for target in earlier.targets)
        for earlier in before
    )


def _may_be_module(node: ast.AST) -> bool:
    """Whether a call of which nothing is known is one of something that ``self`` has, by a name that only computes."""
    return isinstance(node, ast.Call) and _is_own(node.func)


def _is_own(function: ast.expr) -> bool:
    """Whether what is called is reached from ``self``: ``self.layers[0]``, ``self.block.attention``."""
    if isinstance(function, ast.Attribute) and (
        function.attr in KEEPERS or function.attr in _LOGGING or function.attr.endswith("_")
    ):
        return False
    one: ast.expr = function
    while isinstance(one, (ast.Attribute, ast.Subscript)):
        one = one.value
    return one is not function and isinstance(one, ast.Name) and one.id == "self"


def _walk(side: Sequence[ast.stmt]) -> list[ast.AST]:
    return [node for one in side for node in ast.walk(one)]
