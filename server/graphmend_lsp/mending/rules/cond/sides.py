"""Both sides of ``torch.cond``: what they hold, and which names go in and come out. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import is_bound
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.region import Region, assigned_in, calls_own, nodes_of, reads_first
from graphmend_lsp.mending.syntax.endings import leaving, sets
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk


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
    region = Region(source, kinds)
    for side in (at.body, other):
        for statement in side:
            region.refuse_statement(statement, side)
    results = () if returns else _results(region, at, other)
    operands: list[str] = []
    for side in (at.body, other):
        own = assigned_in(side)
        for name in sorted(own):
            reads = reads_first(side, name)
            kept = name in results and not all(name in _surely(source, one) for one in (at.body, other))
            if is_bound(source, name, at):
                operands += [name] if (reads or kept) and name not in operands else []
            elif reads:
                raise Refused(f"`{name}` may have no value before the `if`; give it one.")
            elif name in results and name not in _surely(source, side):
                raise Refused(f"`{name}` may have no value after the `if`; give it one before.")
    modules = any(calls_own(source, one) for side in (at.body, other) for one in side)
    return Sides(at.body, other, tuple(operands), results, returns, modules)


def tails(statements: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Every ``return`` of a side."""
    for statement in statements:
        yield from (one for one in leaving(statement) if isinstance(one, ast.Return))


def _results(region: Region, at: ast.If, other: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names that the sides assign and that are used outside of the branch, in the order of the text."""
    source = region.source
    function = source.function(at)
    inside = {id(node) for side in (at.body, other) for one in side for node in walk(one)}
    outside = [node for node in (walk(function) if function is not None else ()) if id(node) not in inside]
    used = {node.id for node in outside if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    used |= {
        node.target.id for node in outside if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    if any(
        isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in source.ancestors(at)
    ):  # the next turn reads it
        used |= {name for side in (at.body, other) for name in assigned_in(side) if reads_first(side, name)}
    for node in walk(function or at):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and set(node.names) & (
            assigned_in(at.body) | assigned_in(other)
        ):
            raise Refused(f"`{first_line(source, node)}`: a side of `torch.cond` cannot set what is not local.")
    found: dict[str, None] = {}
    for side in (at.body, other):
        own = assigned_in(side) & used
        for node in nodes_of(side):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in own:
                found[node.id] = None
            if isinstance(node, ast.Assign) and any(
                isinstance(one, ast.Name) and one.id in own for one in node.targets
            ):
                region.refuse_value(node.value)
    if not found:
        raise Refused("Neither side stores or returns anything that could come out of `torch.cond`.")
    for name in found:
        for side in (at.body, other):
            if name not in assigned_in(side) and not is_bound(source, name, at):
                raise Refused(f"`{name}` may have no value when its side is not taken; give it one before the `if`.")
    return tuple(found)


def _surely(source: Source, side: Sequence[ast.stmt]) -> frozenset[str]:
    return frozenset(name for one in side for name in sets(source, one))
