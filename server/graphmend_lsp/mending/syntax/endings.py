"""How statements end: what leaves them, whether anything behind them runs, and which names then have a value.

Pure reading of `Source`; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.contexts import may_swallow
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned, kept
from graphmend_lsp.mending.syntax.walk import walk


def leaving(statement: ast.AST) -> list[ast.AST]:
    """Every ``return`` in a statement, and every ``break`` and ``continue`` of a loop around it."""
    inner = [one for one in walk(statement) if isinstance(one, (ast.For, ast.While))]
    held = {id(node) for one in inner for line in one.body for node in walk(line)}
    functions = [one for one in walk(statement) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    own = {id(node) for one in functions for line in one.body for node in walk(line)}
    return [
        one
        for one in walk(statement)
        if id(one) not in own
        and (isinstance(one, ast.Return) or (isinstance(one, (ast.Break, ast.Continue)) and id(one) not in held))
    ]


def surely_leaves(source: Source, statement: ast.stmt) -> bool:
    """Whether nothing behind a statement in its block runs: every way through it returns or raises."""
    if isinstance(statement, (ast.Return, ast.Raise)):
        return True
    if isinstance(statement, ast.If):
        return any_leaves(source, statement.body) and any_leaves(source, statement.orelse)
    if isinstance(statement, ast.With):
        return any_leaves(source, statement.body) and not may_swallow(source, statement)
    if isinstance(statement, ast.Match):
        return _is_total(statement) and not _going_on(source, statement)
    if isinstance(statement, ast.Try):
        handled = all(any_leaves(source, one.body) for one in statement.handlers)
        plain = any_leaves(source, statement.body) or any_leaves(source, statement.orelse)
        return (handled and plain) or any_leaves(source, statement.finalbody)
    return False


def any_leaves(source: Source, block: list[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    return any(surely_leaves(source, one) for one in block)


def sets(source: Source, statement: ast.stmt) -> frozenset[str]:
    """The names that surely have a value behind a statement."""
    if isinstance(statement, ast.If):
        return _named(statement.test) | (_sets_all(source, statement.body) & _sets_all(source, statement.orelse))
    if isinstance(statement, ast.With):
        return frozenset() if may_swallow(source, statement) else _sets_all(source, statement.body)
    if isinstance(statement, ast.Try):
        ways = [_sets_all(source, [*statement.body, *statement.orelse])]
        ways += [_sets_all(source, one.body) for one in statement.handlers if not any_leaves(source, one.body)]
        return frozenset.intersection(*ways) | _sets_all(source, statement.finalbody)
    if isinstance(statement, ast.For) and _surely_turns(source, statement):
        stops = [at for at, one in enumerate(statement.body) if leaving(one)]
        return assigned(statement.target) | _sets_all(source, statement.body[: stops[0] if stops else None])
    if isinstance(statement, ast.Match):
        taken = [assigned(one.pattern) | _sets_all(source, one.body) for one in _going_on(source, statement)]
        return _named(statement.subject) | (frozenset.intersection(*taken) if taken and _is_total(statement) else set())
    if isinstance(statement, ast.While):
        return _named(statement.test)
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset({statement.name})
    if hasattr(statement, "body") or isinstance(statement, (ast.Delete, ast.Assert)):  # an assertion may be left out
        return frozenset()
    maybe = {name for one in walk(statement) if isinstance(one, ast.NamedExpr) for name in assigned(one.target)}
    empty = isinstance(statement, ast.AnnAssign) and statement.value is None
    return frozenset() if empty else (assigned(statement) - maybe) | _named(statement)


@kept
def _named(node: ast.AST) -> frozenset[str]:
    """The names that ``:=`` surely gives a value when a node is evaluated."""
    surely: list[ast.AST]
    if isinstance(node, ast.NamedExpr):
        return assigned(node.target) | _named(node.value)
    if isinstance(node, ast.BoolOp):
        surely = [node.values[0]]
    elif isinstance(node, ast.IfExp):
        surely = [node.test]
    elif isinstance(node, ast.Compare):
        surely = [node.left, node.comparators[0]]
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        surely = [node.generators[0].iter]
    else:
        surely = [] if isinstance(node, ast.Lambda) else list(ast.iter_child_nodes(node))
    return frozenset(name for one in surely for name in _named(one))


def _is_total(statement: ast.Match) -> bool:
    """Whether one of the cases is surely taken: the last takes everything."""
    last = statement.cases[-1]
    return last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None


def _going_on(source: Source, statement: ast.Match) -> list[ast.match_case]:
    return [one for one in statement.cases if not any_leaves(source, one.body)]


def _surely_turns(source: Source, loop: ast.For) -> bool:
    """Whether a loop is over constants of which there is at least one."""
    if isinstance(loop.iter, (ast.Tuple, ast.List)):
        return bool(loop.iter.elts) and not any(isinstance(one, ast.Starred) for one in loop.iter.elts)
    if not (isinstance(loop.iter, ast.Call) and is_builtin(source, loop.iter.func, "range") and not loop.iter.keywords):
        return False
    bounds = [one.value for one in loop.iter.args if isinstance(one, ast.Constant) and isinstance(one.value, int)]
    return len(bounds) == len(loop.iter.args) in (1, 2) and bool(range(*bounds))


def _sets_all(source: Source, block: list[ast.stmt]) -> frozenset[str]:
    return frozenset(name for one in block for name in sets(source, one))
