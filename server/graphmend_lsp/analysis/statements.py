"""Walking through statements in order: branches joined, loops run twice, and the blocks that cost the whole frame kept.

Only `walk` is for others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from graphmend_lsp.analysis.calls import of_operator
from graphmend_lsp.analysis.expressions import bind, evaluate, fixed, test
from graphmend_lsp.analysis.kinds import PYTHON, UNKNOWN, Kind, element, join, of_annotation
from graphmend_lsp.analysis.narrowing import narrow
from graphmend_lsp.analysis.outline import imported
from graphmend_lsp.analysis.scope import Scope, merge, path_of


def walk(scope: Scope, body: list[ast.stmt]) -> bool:
    """Walk the statements of a block; whether its end can be reached."""
    for statement in body:
        walker = _WALKERS.get(type(statement))
        reaches = walker(scope, statement) if walker is not None else _other(scope, statement)
        if not reaches:
            return False
    return True


def _rarely(scope: Scope, body: list[ast.stmt]) -> bool:
    """Walk a block; one that ends by raising runs only when the program fails, and nothing in it is shown."""
    failing = bool(body) and isinstance(body[-1], ast.Raise)
    scope.quiet += failing
    reaches = walk(scope, body)
    scope.quiet -= failing
    return reaches


def _other(scope: Scope, statement: ast.stmt) -> bool:
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, ast.expr):
            evaluate(scope, part)
    return True


def _expression(scope: Scope, statement: ast.Expr) -> bool:
    evaluate(scope, statement.value)
    return True


def _assign(scope: Scope, statement: ast.Assign) -> bool:
    kind = evaluate(scope, statement.value)
    for target in statement.targets:
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(statement.value, (ast.Tuple, ast.List)):
            kinds = [scope.kind(each) for each in statement.value.elts]
            if len(kinds) == len(target.elts):
                for each, part in zip(target.elts, kinds, strict=True):
                    bind(scope, each, part)
                continue
        bind(scope, target, kind)
    return True


def _annotated(scope: Scope, statement: ast.AnnAssign) -> bool:
    kind = evaluate(scope, statement.value) if statement.value is not None else UNKNOWN
    promised = of_annotation(statement.annotation)
    bind(scope, statement.target, promised if kind.tag in ("unknown", "none") and promised != UNKNOWN else kind)
    return True


def _augmented(scope: Scope, statement: ast.AugAssign) -> bool:
    right = evaluate(scope, statement.value)
    target = statement.target
    path = path_of(target)
    if isinstance(target, ast.Subscript):
        bind(scope, target, UNKNOWN)
    elif path:
        left = evaluate(scope, target)
        scope.names[path] = of_operator(type(statement.op).__name__, left, right)
    return True


def _delete(scope: Scope, statement: ast.Delete) -> bool:
    for target in statement.targets:
        scope.names.pop(path_of(target), None)
    return True


def _return(scope: Scope, statement: ast.Return) -> bool:
    scope.returns.append(evaluate(scope, statement.value) if statement.value is not None else PYTHON)
    return False


def _raise(scope: Scope, statement: ast.Raise) -> bool:
    _ = scope, statement
    return False


def _leave_loop(scope: Scope, _statement: ast.stmt) -> bool:
    if scope.exits:
        scope.exits[-1].append(dict(scope.names))
    return False


def _assert(scope: Scope, statement: ast.Assert) -> bool:
    """Dynamo turns `assert tensor` with no message or a constant one into an assertion in the graph."""
    message = statement.msg
    constant = message is None or _is_text(message)
    plain = not isinstance(statement.test, (ast.BoolOp, ast.UnaryOp)) and not (
        isinstance(statement.test, ast.Compare) and len(statement.test.ops) > 1
    )
    if constant and plain:
        evaluate(scope, statement.test)
    else:
        test(scope, statement.test)
    narrow(scope, statement.test, True, evaluate)
    return True


def _is_text(message: ast.expr) -> bool:
    """Whether the compiler folds the message to one string."""
    if isinstance(message, ast.BinOp) and isinstance(message.op, ast.Add):
        return _is_text(message.left) and _is_text(message.right)
    return isinstance(message, ast.Constant) and isinstance(message.value, str)


def _if(scope: Scope, statement: ast.If) -> bool:
    test(scope, statement.test)
    value = fixed(scope, statement.test)
    before = scope.names
    ends = []
    for branch, truth in ((statement.body, True), (statement.orelse, False)):
        if value is (not truth):
            continue
        scope.names = dict(before)
        narrow(scope, statement.test, truth, evaluate)
        if _rarely(scope, branch):
            ends.append(scope.names)
    return _continue_with(scope, ends)


def _continue_with(scope: Scope, ends: list[dict[str, Kind]]) -> bool:
    if not ends:
        return False
    scope.names = ends[0]
    for end in ends[1:]:
        scope.names = merge(scope.names, end)
    return True


def _for(scope: Scope, statement: ast.For | ast.AsyncFor) -> bool:
    kind = element(evaluate(scope, statement.iter))

    def once() -> None:
        bind(scope, statement.target, kind)
        scope.blocks.append(("loop", statement))
        if walk(scope, statement.body):
            scope.exits[-1].append(scope.names)
        scope.blocks.pop()

    return _loop(scope, once, statement.orelse)


def _while(scope: Scope, statement: ast.While) -> bool:
    def once() -> None:
        test(scope, statement.test)
        if fixed(scope, statement.test) is False:
            return
        narrow(scope, statement.test, True, evaluate)
        scope.blocks.append(("loop", statement))
        if walk(scope, statement.body):
            scope.exits[-1].append(scope.names)
        scope.blocks.pop()

    return _loop(scope, once, statement.orelse)


def _loop(scope: Scope, once: Callable[[], None], orelse: list[ast.stmt]) -> bool:
    """Walk a loop's body twice: first unseen, to learn what it changes, then with that known."""
    for seen in (False, True):
        before = scope.names
        scope.names = dict(before)
        scope.exits.append([])
        scope.quiet += not seen
        once()
        scope.quiet -= not seen
        _continue_with(scope, [before, *scope.exits.pop()])
    return walk(scope, orelse)


def _with(scope: Scope, statement: ast.With | ast.AsyncWith) -> bool:
    generic = False
    for item in statement.items:
        kind = evaluate(scope, item.context_expr)
        if isinstance(item.context_expr, ast.Call):
            callee = scope.kind(item.context_expr.func)
            generic |= callee.tag in ("function", "method") and scope.ask("generic", callee.name) == PYTHON
        if item.optional_vars is not None:
            bind(scope, item.optional_vars, UNKNOWN if kind.tag != "module" else kind)
    if generic:
        scope.blocks.append(("context", statement))
    reaches = walk(scope, statement.body)
    if generic:
        scope.blocks.pop()
    return reaches


def _try(scope: Scope, statement: Any) -> bool:
    before = dict(scope.names)
    scope.blocks.append(("try", statement))
    reaches = walk(scope, statement.body)
    scope.blocks.pop()
    after = scope.names
    ends = []
    if reaches and (not statement.orelse or walk(scope, statement.orelse)):
        ends.append(scope.names)
    for handler in statement.handlers:
        scope.names = {**before, **{name: join(before[name], kind) for name, kind in after.items() if name in before}}
        if handler.name:
            scope.names[handler.name] = UNKNOWN
        scope.quiet += 1
        if walk(scope, handler.body):
            ends.append(scope.names)
        scope.quiet -= 1
    reaches = _continue_with(scope, ends)
    return walk(scope, statement.finalbody) and reaches


def _match(scope: Scope, statement: ast.Match) -> bool:
    evaluate(scope, statement.subject)
    before = scope.names
    ends = [before]
    for case in statement.cases:
        scope.names = dict(before)
        for part in ast.walk(case.pattern):
            name = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(name, str):
                scope.names[name] = UNKNOWN
        if case.guard is not None:
            test(scope, case.guard)
        if _rarely(scope, case.body):
            ends.append(scope.names)
    return _continue_with(scope, ends)


def _function(scope: Scope, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    outer = f"{scope.function.name}.<locals>." if scope.function else ""
    scope.names[statement.name] = Kind("function", outer + statement.name)
    return True


def _class(scope: Scope, statement: ast.ClassDef) -> bool:
    scope.names[statement.name] = UNKNOWN
    return True


def _import(scope: Scope, statement: ast.Import | ast.ImportFrom) -> bool:
    for name, dotted in imported(statement).items():
        scope.names[name] = Kind("ref", dotted)
    return True


_WALKERS: dict[type[ast.stmt], Callable[[Scope, Any], bool]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.Assert: _assert,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
