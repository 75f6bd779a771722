"""What never ran because of a flag or a None: an operator takes that value alone, and what is skipped may do anything."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


@dataclass(frozen=True, slots=True)
class Dead:
    """`nodes` are those that did not run, by identity; `tests` what decided so, with the texts of the flag and its value."""

    nodes: frozenset[int] = frozenset()
    tests: tuple[tuple[ast.expr, str, str], ...] = ()


def dead_in(source: Source, statements: Sequence[ast.stmt]) -> Dead:
    """The blocks of statements that one flag, or None, that was the same in every call kept from running."""
    nodes: set[int] = set()
    tests: list[tuple[ast.expr, str, str]] = []
    for one in (node for statement in statements for node in walk(statement)):
        if not isinstance(one, (ast.If, ast.IfExp)) or id(one) in nodes:
            continue
        known = _known(source, statements, one.test)
        left = one.orelse if known is not None and known[2] else one.body
        block = left if isinstance(left, list) else [left]
        if known is not None and block:
            nodes |= {id(node) for each in block for node in walk(each)}
            tests.append((one.test, known[0], known[1]))
    return Dead(frozenset(nodes), tuple(tests))


def _known(source: Source, statements: Sequence[ast.stmt], test: ast.expr) -> tuple[str, str, bool] | None:
    """The text of the flag in a test, that of the value that it always had, and what the test then says."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _known(source, statements, test.operand)
        return None if inner is None else (*inner[:2], not inner[2])
    asks = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot))
    if isinstance(test, ast.Compare):
        other = test.comparators[0]
        if not (asks and isinstance(other, ast.Constant) and other.value is None):
            return None
    flag = test.left if isinstance(test, ast.Compare) else test
    if not isinstance(flag, (ast.Name, ast.Attribute)) or not _keeps(statements, flag):
        return None
    fact = Seen(source).of(flag)
    value = None
    if fact is None or not (fact.is_none or (fact.is_bool and fact.constant)):
        return None
    if not fact.is_none:
        value = bool(fact.constant[0])
    Seen(source).believe(flag, repr(value))
    says = bool(value)
    if isinstance(test, ast.Compare):
        says = (value is None) == isinstance(test.ops[0], ast.Is)
    return source.code(flag), repr(value), says


def _keeps(statements: Sequence[ast.stmt], flag: ast.Name | ast.Attribute) -> bool:
    """Whether statements bind neither a name nor an attribute of its object anew."""
    if isinstance(flag, ast.Name):
        return not any(flag.id in assigned(one) for one in statements)
    nodes = (node for one in statements for node in walk(one))
    stored = [one for one in nodes if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load)]
    own = isinstance(flag.value, ast.Name) and flag.value.id == "self"
    return own and all(one.attr != flag.attr for one in stored)
