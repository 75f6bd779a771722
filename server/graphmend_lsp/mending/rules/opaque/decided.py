"""What decides in the statements of an operator, and what keeps the value of the run for that. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from graphmend_lsp.mending.rules.opaque.taken import Handed
from graphmend_lsp.mending.syntax.source import Source, assigned


def conditions(statements: Sequence[ast.stmt]) -> list[ast.expr]:
    """What decides in the statements: each result must be seen on both sides."""
    return [
        one.test
        for statement in statements
        for one in ast.walk(statement)
        if isinstance(one, (ast.If, ast.While, ast.IfExp))
    ]


def fixing(
    source: Source, statements: Sequence[ast.stmt], constant: Mapping[str, Handed]
) -> dict[ast.expr, list[Handed]]:
    """The conditions of statements that flags and texts alone decide which keep their values there, with these."""
    bound = {name for statement in statements for name in assigned(statement)}
    found = {}
    for test in conditions(statements):
        parts = [one for one in ast.walk(test) if isinstance(one, (ast.Name, ast.Attribute, ast.Call))]
        own = [one for one in parts if not (isinstance(one, ast.Name) and one.id == "self")]
        known = [constant.get(source.code(one)) for one in own if source.code(one) not in bound]
        handed = [one for one in known if one is not None]
        if handed and len(handed) == len(own):
            found[test] = handed
    return found
