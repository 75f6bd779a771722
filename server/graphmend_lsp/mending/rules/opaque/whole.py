"""A function of the file whose statements all become an operator is marked as one, and stays where and as it is."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from graphmend_lsp.mending.rules.opaque.region import Region
from graphmend_lsp.mending.rules.opaque.taken import NUMBERS, Handed
from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.model import TextEdit

_WITHOUT_GRADIENTS = ("bool", "int", "uint")


def in_place(source: Source, function: Function, region: Region, mark: str) -> list[TextEdit] | None:
    """The edits that make the function itself the operator, with `mark` above it; None where that is another operator.

    It is the same where the region is all of a function, at the module's level or a static method, that takes its parameters
    alone. What an operator must know of these is written in their annotations.
    """
    if not isinstance(function, ast.FunctionDef) or not _is_free(source, function):
        return None
    if region.fills or len(region.like) != 1 or not _is_all(function, region):
        return None
    if not source.starts_line(function) or not _gives_tensor(source, function):
        return None
    takes = {one.name: one for one in region.takes}
    given = [*function.args.posonlyargs, *function.args.args]
    others = function.args.vararg or function.args.kwarg or function.args.kwonlyargs
    if others or takes.keys() != {one.arg for one in given}:
        return None
    said = [_annotated(source, one, takes[one.arg], _defaults(function)) for one in given]
    if None in said:
        return None
    return [_above(source, function, mark), *(one for one in said if isinstance(one, TextEdit))]


def _is_free(source: Source, function: ast.FunctionDef) -> bool:
    """Whether a function gets no object, and has nothing around it but what makes it a static method."""
    if not all(_is_called(source, one) for one in source.nodes if _names(one) == function.name):
        return False  # what is handed on may have to be a plain function, as for TorchScript
    if function in source.tree.body:
        return not function.decorator_list
    return source.parents[function] in source.tree.body and [
        is_builtin(source, one, "staticmethod") for one in function.decorator_list
    ] == [True]


def _names(node: ast.AST) -> str:
    """The name that a node reads, of its own or as an attribute; "" for none."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) else ""


def _is_called(source: Source, node: ast.AST) -> bool:
    call = source.parents[node]
    return isinstance(call, ast.Call) and call.func is node


def _is_all(function: ast.FunctionDef, region: Region) -> bool:
    """Whether a region holds all statements of a function, or all but that which returns what it gives."""
    body = function.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    if body[documented:][:1] != [region.first]:
        return False
    if body[-1] is region.last:
        return region.returns
    ends = body[-1]
    return (
        isinstance(ends, ast.Return)
        and isinstance(ends.value, ast.Name)
        and region.gives == (ends.value.id,)
        and body[-2] is region.last
    )


def _gives_tensor(source: Source, function: ast.FunctionDef) -> bool:
    return function.returns is None or _says(source, function.returns, "Tensor")


def _defaults(function: ast.FunctionDef) -> Mapping[ast.arg, ast.expr]:
    given = [*function.args.posonlyargs, *function.args.args]
    return dict(zip(reversed(given), reversed(function.args.defaults), strict=False))


def _annotated(
    source: Source, parameter: ast.arg, taken: Handed, defaults: Mapping[ast.arg, ast.expr]
) -> TextEdit | bool | None:
    """The edit that annotates a parameter; True where it needs none, None where it cannot be handed on as it is."""
    if taken.text != parameter.arg and not _has_no_gradient(taken):
        return None
    if parameter.annotation is not None:
        return _says(source, parameter.annotation, taken.annotation) or None
    if taken.annotation == "Tensor":
        return parameter not in defaults or None
    if taken.annotation not in ("int", "float", "bool", "str"):
        return None
    start, end = source.range(parameter)
    default = defaults.get(parameter)
    text = f"{parameter.arg}: {taken.annotation}"
    if default is not None:
        end, text = source.range(default)[0], f"{text} = "
        if source.text.value[start:end].strip() != f"{parameter.arg}=":
            return None
    line = source.text.line(source.span(parameter).start.line)
    if len(line) + len(text) - (end - start) > line_limit(source):
        return None
    return TextEdit(source.path, source.between(start, end), text)


def _says(source: Source, annotation: ast.expr, wanted: str) -> bool:
    """Whether the author's annotation is what an operator must know."""
    if wanted == "Tensor":
        name = dotted(source, annotation) or ""
        return name.startswith("torch.") and name.endswith("Tensor")
    if wanted not in NUMBERS:
        return False
    return dotted(source, annotation) == wanted if "." in wanted else is_builtin(source, annotation, wanted)


def _has_no_gradient(taken: Handed) -> bool:
    """Whether every call handed numbers without gradients, so that nothing is lost of what `detach` would leave out."""
    dtypes = taken.fact.dtypes if taken.fact is not None else ()
    return bool(dtypes) and all(one.startswith(_WITHOUT_GRADIENTS) for one in dtypes)


def _above(source: Source, function: ast.FunctionDef, mark: str) -> TextEdit:
    start, _ = source.range(function)
    base = source.indentation(function)
    lines = layout(mark, source.indent, line_limit(source) - len(base))
    text = f"{source.newline}{base}".join((*lines, source.text.value[start]))
    return TextEdit(source.path, source.between(start, start + 1), text)
