"""The names that a mend says it brings into a file are those that its text binds."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending import propose, rules_by_name
from graphmend_lsp.mending.rule import Example
from graphmend_lsp.mending.syntax.source import Source, assigned, parameters, read

from .conftest import PATH, seen_in, unmark

_EXAMPLES = [(name, one) for name, rule in rules_by_name().items() for one in rule.examples]


@pytest.mark.parametrize(("rule", "case"), _EXAMPLES, ids=[f"{name}-{case.title}" for name, case in _EXAMPLES])
@pytest.mark.slow
def test_names_of_an_example(rule: str, case: Example) -> None:
    text, site = unmark(case.before, case.outermost, case.gb_id)
    mend = propose(site, {PATH: text}, [rule], seen_in(text, case.seen)).mends[0]
    before, after = read(PATH, text), read(PATH, case.after)
    assert isinstance(before, Source) and isinstance(after, Source)
    told = {(name.scope, name.name) for name in mend.names}
    bound = {
        (scope, name)
        for scope, name in _bound(after)
        if name not in before.names and before.names.issuperset(filter(None, scope.split(".")))
    }
    assert bound <= told
    assert {name for _, name in told - bound} <= _bound_in_expressions(after)
    assert all(edit in mend.edits and name.name in edit.text for name in mend.names for edit in name.edits)


def _bound(source: Source) -> set[tuple[str, str]]:
    """Scopes and what they bind in statements, but for imports, whose names stand for one thing."""
    found: set[tuple[str, str]] = set()

    def visit(owner: ast.Module | ast.ClassDef | ast.FunctionDef, scope: str) -> None:
        names = set(parameters(owner)) if isinstance(owner, ast.FunctionDef) else set()
        for statement in owner.body:
            names |= set() if isinstance(statement, (ast.Import, ast.ImportFrom)) else assigned(statement)
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                visit(statement, f"{scope}.{statement.name}".strip("."))
        found.update((scope, name) for name in names)

    visit(source.tree, "")
    return found


def _bound_in_expressions(source: Source) -> set[str]:
    """Attributes, and what comprehensions and lambdas bind."""
    nodes = list(ast.walk(source.tree))
    attributes = {one.attr for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
    targets = {
        name.id for one in nodes if isinstance(one, ast.comprehension) for name in ast.walk(one.target) if isinstance(name, ast.Name)
    }  # fmt: skip
    return attributes | targets | {one.arg for one in nodes if isinstance(one, ast.arg)}
