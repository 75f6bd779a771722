"""Checks as operators of the graph that raise themselves: the exception stays the same, at the same time.

`torch.library.custom_op` runs Python inside the graph, also under a compiler. An operator whose value nobody uses is dropped,
so `torch._assert_async` takes its value, which is always true. Pure.
"""

from __future__ import annotations

import ast
import builtins

from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.rules.guard.checks import Assertion, Check, Raise, must_hold
from graphmend_lsp.mending.rules.guard.graph import InGraph, under
from graphmend_lsp.mending.syntax.edits import comments, replace
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, render
from graphmend_lsp.mending.syntax.imports import add_function, spell
from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, local_names, parameters

_DOC = '"""Raises where it does not hold; `torch._assert_async` of the value keeps the operator in the graph."""'


def raise_in_operator(source: Source, function: Function, check: Check) -> InGraph | str:
    """The check as an operator of its own that raises what the check raises, or why it cannot be one."""
    statement = check.statement
    if isinstance(check, Raise) and check.statement.body[0] is not check.error:
        return "The check has a condition around it inside; mend the inner one."
    if (name := _unknown(source, function, check)) is not None:
        return f"Its exception is made of `{name}`, which an operator of the graph is not given."
    if (stored := _stored_before(source, function, statement)) is not None:
        return f"Line {stored} stores a value in front of the check, which would be lost where the check fails."
    parts = must_hold(source, statement.test, isinstance(check, Raise))
    if isinstance(parts, str):
        return parts
    if isinstance(check, Assertion) and parts.static:
        return "Its condition holds for some shapes only; check those in a statement of its own."
    if comments(source, *source.range(statement)):
        return "There are comments inside the check; move them above it first."
    if not _is_one_line(source, check):
        return "Its exception cannot be written on one line."
    operator, added = spell(source, "torch.library.custom_op", source.tree)
    called, imported = spell(source, "torch._assert_async", statement)
    torch = operator.removesuffix(".library.custom_op")
    if torch == operator:
        return "`custom_op` is imported by its own name; import torch."
    name = source.fresh(f"_{function.name.strip('_')}_check")
    holds = source.fresh("holds")
    message = f'"{name} holds"'
    inside = [f"{called}({name}({tensor}), {message})" for tensor in parts.tensors]
    if isinstance(check, Raise):
        lines = under(source, parts, inside, render(source, check.error))
    else:
        lines = [*(_assert(source, check, shape) for shape in parts.shapes), *inside]
    base = source.indentation(statement) if source.starts_line(statement) else ""
    if source.code(statement).startswith("elif"):
        lines = ["else:", *(source.indent + line for line in lines)]
    limit = line_limit(source)
    short = [part.removeprefix(base) for line in lines for part in layout(base + line, source.indent, limit)]
    label, labelled = qualified(source, name)
    definition = _definition(source, torch, (operator, label), (name, holds), check)
    spots = [one for one in (added, imported, labelled) if one is not None]
    return InGraph(
        (*dict.fromkeys(spots), add_function(source, definition), replace(source, statement, statement, short)),
        ("The check runs uncompiled, as one operator of the graph, which CUDA graphs leave out.",),
    )


def _definition(source: Source, torch: str, made: tuple[str, str], names: tuple[str, str], check: Check) -> list[str]:
    (operator, label), (name, holds) = made, names
    inner = source.indent
    if isinstance(check, Raise):
        body = [f"if not {holds}:", inner + render(source, check.error)]
    else:
        body = [_assert(source, check, holds)]
    return [
        f"@{operator}(",
        f"{inner}{label},",
        f"{inner}mutates_args=(),",
        f"{inner}tags={torch}.Tag.cudagraph_unsafe,",
        ")",
        f"def {name}({holds}: {torch}.Tensor) -> {torch}.Tensor:",
        inner + _DOC,
        *(part for line in body for part in layout(inner + line, inner, line_limit(source))),
        f"{inner}return {torch}.ones((), dtype={torch}.bool, device={holds}.device)",
        "",
        "",
        f"@{name}.register_fake",
        f"def {source.fresh(f'{name}_fake')}({holds}):",
        f"{inner}return {torch}.empty((), dtype={torch}.bool, device={holds}.device)",
    ]


def _assert(source: Source, check: Assertion, condition: str) -> str:
    message = check.statement.msg
    return f"assert {condition}" + (f", {render(source, message)}" if message is not None else "")


def _is_one_line(source: Source, check: Check) -> bool:
    """Whether what is raised stays what it is when it is written on one line."""
    raised: ast.AST | None = check.error if isinstance(check, Raise) else check.statement.msg
    if raised is None:
        return True
    try:
        parsed = ast.parse(render(source, raised)).body
    except SyntaxError:
        return False
    (only,) = parsed if len(parsed) == 1 else (None,)
    return only is not None and ast.dump(only.value if isinstance(only, ast.Expr) else only) == ast.dump(raised)


def _unknown(source: Source, function: Function, check: Check) -> str | None:
    """The first name that what is raised needs and that the file's own scope does not have."""
    raised: ast.AST | None = check.error if isinstance(check, Raise) else check.statement.msg
    if raised is None:
        return None
    scopes = [function, *(one for one in source.ancestors(function) if isinstance(one, ast.FunctionDef))]
    local = frozenset(name for one in scopes for name in local_names(one))
    known = frozenset(name for statement in source.tree.body for name in assigned(statement)) | frozenset(dir(builtins))
    for one in ast.walk(raised):
        if isinstance(one, ast.Name) and (one.id in local or one.id not in known or one.id.startswith("__")):
            return one.id
        if isinstance(one, ast.Attribute) and one.attr.startswith("__"):
            return source.code(one)
        if isinstance(one, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)):
            return source.code(one)
    return None


def _stored_before(source: Source, function: Function, statement: ast.stmt) -> int | None:
    """The line of the first statement in front of the check, or around it in a loop, that others can see the effect of."""
    end = source.range(statement)[0]
    for up in source.ancestors(statement):
        if up is function:
            break
        if isinstance(up, (ast.For, ast.While)):
            end = source.range(up)[1]
    own = {id(one) for one in ast.walk(statement)}
    for one in ast.walk(function):
        if id(one) in own or not hasattr(one, "lineno") or source.range(one)[0] >= end:
            continue
        stores = isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load)
        if isinstance(one, ast.AugAssign) and getattr(one.target, "id", "") in parameters(function):
            stores = True
        acts = isinstance(one, ast.Call) and any(
            hazard.node is one and hazard.kind == "effect" for hazard in hazards(source, one)
        )
        if stores or acts or isinstance(one, (ast.Global, ast.Nonlocal)):
            return source.span(one).start.line
    return None
