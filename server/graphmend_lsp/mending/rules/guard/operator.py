"""Checks as operators of the graph that raise themselves: the exception stays the same, at the same time.

`check` of the support module is one, for exceptions that are made of constants. For others, and where the file cannot import
it, `torch.library.custom_op` makes one of the check: it runs Python inside the graph, also under a compiler. An operator
whose value nobody uses is dropped, so `torch._assert_async` takes its value, which is always true. Pure.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from graphmend_lsp.mending.facts.elsewhere import Elsewhere
from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.facts.stored_before import stored_before
from graphmend_lsp.mending.lowering.capture import capture
from graphmend_lsp.mending.lowering.in_graph import is_known, require_given, written
from graphmend_lsp.mending.rules.guard.checks import Assertion, Check, Parts, Raise, must_hold
from graphmend_lsp.mending.rules.guard.graph import InGraph, under
from graphmend_lsp.mending.syntax.edits import comments, replace
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, render
from graphmend_lsp.mending.syntax.imports import add_function, dotted, is_bound, is_builtin, spell
from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, local_names
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

_DOC = '"""Raises where it does not hold; `torch._assert_async` of the value keeps the operator in the graph."""'


def raise_in_operator(
    source: Source,
    function: Function,
    check: Check,
    sources: Mapping[str, str] = MappingProxyType({}),
    caught: str | None = None,
) -> InGraph | str:
    """The check as an operator of its own that raises what the check raises, or why it cannot be one.

    `sources` are the texts of the files that functions may be read in. `caught` is why a caller may catch the exception:
    the support module's check sees to that itself.
    """
    statement = check.statement
    if isinstance(check, Raise) and check.statement.body[0] is not check.error:
        return "The check has a condition around it inside; mend the inner one."
    if (stored := stored_before(source, function, statement, Elsewhere(sources))) is not None:
        return f"Line {stored} stores a value before the check, and a failing check would lose it."
    parts = must_hold(source, statement.test, isinstance(check, Raise))
    if isinstance(parts, str):
        return parts
    if isinstance(check, Assertion) and parts.static:
        return "Its condition holds for some shapes only; check those in a statement of its own."
    if comments(source, *source.range(statement)):
        return "There are comments inside the check; move them above it first."
    if not is_one_line(source, check.error if isinstance(check, Raise) else check.statement.msg):
        return "Its exception cannot be written on one line."
    words = "Its exception is made of `{}`, which an operator of the graph does not get."
    local, unknown = needed(source, function, check.error if isinstance(check, Raise) else check.statement.msg)
    if unknown is not None:
        return words.format(unknown)
    found = _in_support(source, function, check, parts)
    if isinstance(found, InGraph):
        return found
    if caught is not None:
        return caught
    if local is not None:
        return found or words.format(local)
    operator, added = spell(source, "torch.library.custom_op", source.tree)
    called, imported = spell(source, "torch._assert_async", statement)
    torch = operator.removesuffix(".library.custom_op")
    if torch == operator:
        return "`custom_op` is imported by its own name; import torch."
    name = source.fresh(f"_{function.name.strip('_')}_check")
    holds = source.fresh("holds")
    message = f'"{name} holds"'
    inside = [f"{called}({name}({tensor}), {message})" for tensor in parts.tensors]
    label, labelled = qualified(source, name)
    definition = _definition(source, torch, (operator, label), (name, holds), check)
    spots = [one for one in (added, imported, labelled) if one is not None]
    spots.append(add_function(source, definition))
    return _replaced(source, check, parts, inside, tuple(dict.fromkeys(spots)))


def _in_support(source: Source, function: Function, check: Check, parts: Parts) -> InGraph | str | None:
    """The check with `check` of the support module; why not, or None, where it cannot raise what the check raises."""
    if isinstance(check, Assertion):
        if is_bound(source, "AssertionError", check.statement):
            return None
        message = check.statement.msg
        made: tuple[str, Sequence[ast.expr]] | None = ("AssertionError", [] if message is None else [message])
    else:
        made = _made(source, check.error)
    if made is None:
        return None
    try:
        given = exception_given(source, function, check.statement, made)
    except Refused as problem:
        return str(problem)
    found = supported(source, check.statement, "check")
    if found is None:
        return None
    word = "assert " if isinstance(check, Assertion) else ""  # which `python -O` leaves out
    inside = [f"{word}{found[0]['check']}({tensor}, {given})" for tensor in parts.tensors]
    return _replaced(source, check, parts, inside, tuple(found[1]))


def exception_given(
    source: Source, function: Function, statement: ast.stmt, made: tuple[str, Sequence[ast.expr]]
) -> str:
    """What `check` takes besides the condition: the exception's class and constants, or a function that makes it, and values.

    `made` is the class, as text, and what it is made of. What reads a tensor is computed in the function, so that only a
    check that fails computes it.

    Raises:
        Refused: the operator cannot be given one of the values, or the text would be another.
    """
    if all(_is_settled(source, one) for one in made[1]):
        return ", ".join((made[0], *(render(source, one) for one in made[1])))
    coming = later(source, function, statement)
    captured = capture(source, function, made[1], coming, keep_inert=False)
    if isinstance(captured, str) or not all(is_known(source, one.node) for one in captured.captures):
        captured = capture(source, function, (), coming, keep_inert=False, late=made[1])
    if isinstance(captured, str):
        raise Refused(captured)
    require_given(source, captured, made[1])
    head = ", ".join(one.name for one in captured.captures)
    said = ", ".join(written(source, one, captured) for one in made[1])
    return ", ".join((f"lambda {head}".rstrip() + f": {made[0]}({said})", *(one.code for one in captured.captures)))


def _replaced(source: Source, check: Check, parts: Parts, inside: list[str], spots: tuple[TextEdit, ...]) -> InGraph:
    """The mend that puts calls in the place of the check; `spots` are the edits besides."""
    statement = check.statement
    if isinstance(check, Raise):
        lines = under(source, parts, inside, render(source, check.error))
    else:
        lines = [*(_assert(source, check, shape) for shape in parts.shapes), *inside]
    base = source.indentation(statement) if source.starts_line(statement) else ""
    if source.code(statement).startswith("elif"):
        lines = ["else:", *(source.indent + line for line in lines)]
    limit = line_limit(source)
    short = [part.removeprefix(base) for line in lines for part in layout(base + line, source.indent, limit)]
    return InGraph(
        (*spots, replace(source, statement, statement, short)),
        ("The check runs uncompiled, as one operator of the graph, which CUDA graphs leave out.",),
    )


def _made(source: Source, error: ast.Raise) -> tuple[str, Sequence[ast.expr]] | None:
    """The class of an exception, as text, and what it is made of; None where it is made otherwise, or has a cause."""
    made = error.exc
    if made is None or error.cause is not None:
        return None
    kind, given = (made.func, made.args) if isinstance(made, ast.Call) else (made, [])
    if isinstance(made, ast.Call) and made.keywords:
        return None
    return (source.code(kind), given) if is_class(source, kind) else None


def is_class(source: Source, node: ast.expr) -> bool:
    """Whether an expression is surely a class: a builtin exception, one of the file, or one with a class's name."""
    if isinstance(node, ast.Name) and is_builtin(source, node, node.id):
        found = getattr(builtins, node.id, None)
        return isinstance(found, type) and issubclass(found, BaseException)
    name = dotted(source, node)
    if name is not None:
        last = name.rpartition(".")[2]
        return last[:1].isupper() and not last.isupper()
    bound = [one for one in source.tree.body if isinstance(node, ast.Name) and node.id in assigned(one)]
    return len(bound) == 1 and isinstance(bound[0], ast.ClassDef) and not bound[0].decorator_list


def _is_settled(source: Source, node: ast.expr) -> bool:
    """Whether an expression gives the same text, number, True, False or None whenever it is evaluated."""
    match node:
        case ast.Constant(value=bool() | str() | int() | None):
            return True
        case ast.Constant(value=float(value)):
            return math.isfinite(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return _is_settled(source, node.operand)
        case ast.JoinedStr():
            return all(_is_settled(source, one) for one in node.values)
        case ast.FormattedValue():
            return node.format_spec is None and _is_settled(source, node.value)
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Add(), right=ast.Constant(value=str())):
            return True
        case ast.Name():
            return _constant(source, node.id)
    return False


def _constant(source: Source, name: str) -> bool:
    """Whether a name of the file is bound once, to a literal."""
    bound = [one for one in source.tree.body if name in assigned(one)]
    if len(bound) != 1 or not isinstance(bound[0], ast.Assign) or len(bound[0].targets) != 1:
        return False
    changed = any(isinstance(one, ast.Global) and name in one.names for one in source.nodes)
    return isinstance(bound[0].value, ast.Constant) and _is_settled(source, bound[0].value) and not changed


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
        f"{inner}tags=({torch}.Tag.cudagraph_unsafe,),",
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


def is_one_line(source: Source, raised: ast.AST | None) -> bool:
    """Whether what is raised stays what it is when it is written on one line."""
    if raised is None:
        return True
    try:
        parsed = ast.parse(render(source, raised)).body
    except SyntaxError:
        return False
    (only,) = parsed if len(parsed) == 1 else (None,)
    return only is not None and ast.dump(only.value if isinstance(only, ast.Expr) else only) == ast.dump(raised)


_OTHERWISE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)


def needed(source: Source, function: Function, raised: ast.AST | None) -> tuple[str | None, str | None]:
    """What the exception is made of: the first name of the function, and the first thing that nothing outside of it has."""
    if raised is None:
        return None, None
    scopes = [function, *(one for one in source.ancestors(function) if isinstance(one, ast.FunctionDef))]
    local = frozenset(name for one in scopes for name in local_names(one))
    known = frozenset(name for statement in source.tree.body for name in assigned(statement)) | frozenset(dir(builtins))
    own: str | None = None
    for one in walk(raised):
        if isinstance(one, ast.Name) and one.id in local:
            own = own or one.id
        elif isinstance(one, ast.Name) and (one.id not in known or one.id.startswith("__")):
            return own, one.id
        elif isinstance(one, _OTHERWISE) or (isinstance(one, ast.Attribute) and one.attr.startswith("__")):
            return own, source.code(one)
    return own, None
