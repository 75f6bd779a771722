"""What decides in the statements of an operator, and what keeps the value of the run for that. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.rules.opaque.taken import STRUCTURE, Handed
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


def conditions(statements: Sequence[ast.stmt]) -> list[ast.expr]:
    """What decides in the statements: each result must be seen on both sides."""
    return [
        one.test
        for statement in statements
        for one in walk(statement)
        if isinstance(one, (ast.If, ast.While, ast.IfExp))
    ]


def fixing(
    source: Source, statements: Sequence[ast.stmt], constant: Mapping[str, Handed]
) -> dict[ast.expr, list[Handed]]:
    """The conditions of statements that flags and texts alone decide which keep their values there, with these."""
    bound = {name for statement in statements for name in assigned(statement)}
    found = {}
    for test in conditions(statements):
        parts = [one for one in walk(test) if isinstance(one, (ast.Name, ast.Attribute, ast.Call))]
        whole = [one for one in parts if isinstance(one, ast.Attribute) and source.code(one) in constant]
        within = {id(each) for one in whole for each in walk(one.value)}
        own = [one for one in parts if id(one) not in within and not (isinstance(one, ast.Name) and one.id == "self")]
        known = [constant.get(source.code(one)) for one in own if source.code(one) not in bound]
        handed = [one for one in known if one is not None]
        if handed and len(handed) == len(own):
            found[test] = handed
    return found


def asks_none(source: Source, test: ast.expr, takes: Sequence[Handed], statements: Sequence[ast.stmt]) -> bool:
    """Whether a test asks whether one of the things that the operator takes is None: each is one of its type in every call."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot))):
        return False
    other, text = test.comparators[0], source.code(test.left)
    if not (isinstance(other, ast.Constant) and other.value is None):
        return False
    handed = next((one for one in takes if text in (one.text, one.name)), None)
    bound = isinstance(test.left, ast.Name) and any(test.left.id in assigned(one) for one in statements)
    return handed is not None and handed.annotation != STRUCTURE and not bound


def deciding(source: Source, statements: Sequence[ast.stmt], flags: Collection[str] = ()) -> list[ast.expr]:
    """What may decide by data in statements, but for checks: on each side other tensors may have a gradient."""
    kinds = Kinds(source)
    bound = {name for one in statements for name in assigned(one)}
    found = [
        one
        for statement in statements
        for one in walk(statement)
        if isinstance(one, (ast.If, ast.While, ast.IfExp))
        and kinds.of(one.test) != "python"
        and not (isinstance(one.test, ast.Name) and one.test.id in flags and one.test.id not in bound)
    ]
    return [one.test for one in found if not _only_raises(one)]


def _only_raises(one: ast.If | ast.While | ast.IfExp) -> bool:
    return isinstance(one, ast.If) and not one.orelse and all(isinstance(each, ast.Raise) for each in one.body)


def refuse_deciding(source: Source, tests: Sequence[ast.expr], structures: Sequence[Handed]) -> None:
    """Refuse what decides which results there are, and is other than one flag or text."""
    for test in tests:
        if one := next((each for each in structures if each.text in source.code(test)), None):
            raise Refused(
                f"`{source.code(test)}` depends on what `{one.text}` holds, and decides what the results look like."
            )
