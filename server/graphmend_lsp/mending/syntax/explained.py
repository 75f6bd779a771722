"""One comment line at what a reader of a mend would wonder about, by how it is mended and not by which rule. Pure.

`torch.where` in the place of an ``if`` explains itself; a ``check`` in an ``assert`` does not. A file says each reason once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from graphmend_lsp.mending.syntax.formatting import line_limit
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.soundness import Region, new_regions
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit
from graphmend_lsp.text import OverlappingEditsError, apply_edits

_DEFERRED = "# Runs after the compiled function: it would break the graph."
_OPERATOR = "# One operator of the graph: TorchDynamo does not look inside."
_CHECK = "# `check` raises, in a graph, too; what it gives is True."
_TRACING = "# Called while TorchDynamo traces, not in the graph."
_WHERE = "# The inner where makes the side that is not chosen harmless."
_INDEX = "# The index stays a tensor: a number would break the graph."
_CAPTURED = {
    "capture_scalar_outputs": "# TorchDynamo keeps numbers and sizes of tensors in the graph.",
    "allow_rnn": "# TorchDynamo keeps recurrent layers in the graph.",
    "trace_autograd_ops": "# TorchDynamo keeps torch.autograd.grad in the graph.",
}


def explained(source: Source, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits of one file with a comment line above the first thing that is not plain, if there is one."""
    ordered = sorted(edits, key=lambda edit: edit.span)
    try:
        new = read(source.path, apply_edits(source.text.value, ordered))
    except OverlappingEditsError:
        return tuple(edits)
    if not source.style.comments or not isinstance(new, Source):
        return tuple(edits)
    regions = list(new_regions(source.text, ordered))
    for at, comment in sorted(_found(new, regions)):
        indent = new.text.value[new.text.starts[new.text.position(at).line - 1] : at]
        fits = not indent.strip() and len(indent + comment) <= line_limit(source)
        if fits and comment not in source.text.value and not _is_explained(new, at):
            return _inserted(source, ordered, regions, at, comment + source.newline + indent)
    return tuple(edits)


def _found(new: Source, regions: Sequence[Region]) -> Iterator[tuple[int, str]]:
    """What the edits wrote that is not plain: where the line begins that it is explained above, and the comment."""
    lines = [(new.text.position(first).line, new.text.position(last).line) for first, last in regions]
    for node in new.nodes:
        if not isinstance(node, (ast.Call, ast.Subscript)):
            continue
        if not any(first <= node.lineno <= last for first, last in lines):
            continue
        start = new.range(node)[0]
        if not any(first <= start < last for first, last in regions):
            continue
        comment = _comment(new, node)
        if comment:
            yield _line(new, node), comment


def _comment(new: Source, node: ast.Call | ast.Subscript) -> str:
    if isinstance(node, ast.Subscript):
        return _INDEX if _is_one_element(node) else ""
    called = node.func
    for name, comment in (
        ("defer", _DEFERRED),
        ("while_tracing", _TRACING),
        ("number", _OPERATOR),
        ("operator", _OPERATOR),
    ):
        if is_supported(new, called, name):
            return comment
    if is_supported(new, called, "check"):
        return _CHECK if isinstance(new.parents.get(node), ast.Assert) else ""
    if is_supported(new, called, "captures"):
        return next((_CAPTURED[one.arg] for one in node.keywords if one.arg in _CAPTURED), "")
    return _WHERE if _is_doubled(new, node) else ""


def _is_doubled(new: Source, node: ast.Call) -> bool:
    """Whether it is a ``torch.where`` in which another one of the same condition puts a number in the place of a tensor."""
    if dotted(new, node.func) != "torch.where" or len(node.args) != 3:
        return False
    test = ast.dump(node.args[0])
    inner = (one for side in node.args[1:] for one in walk(side) if isinstance(one, ast.Call) and len(one.args) == 3)
    return any(
        dotted(new, one.func) == "torch.where"
        and ast.dump(one.args[0]) == test
        and isinstance(one.args[2], ast.Constant)
        for one in inner
    )


def _is_one_element(node: ast.Subscript) -> bool:
    """Whether an index is a tensor that was given one dimension, which is taken away behind: ``x[i.reshape(1)]``."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == "reshape"
        and [getattr(given, "value", None) for given in one.args] == [1]
        for one in parts
    )


def _line(new: Source, node: ast.AST) -> int:
    """The offset of the statement that a node is in, or of the decorator."""
    statement = new.statement(node)
    assert statement is not None
    for one in getattr(statement, "decorator_list", ()):
        if any(part is node for part in walk(one)):
            return new.text.value.rindex("@", 0, new.range(one)[0])
    return new.range(statement)[0]


def _is_explained(new: Source, at: int) -> bool:
    """Whether there is a comment above it, or it decorates an operator with a docstring."""
    line = new.text.position(at).line
    if line > 1 and new.text.line(line - 1).lstrip().startswith("#"):
        return True
    for one in walk(new.tree):
        if isinstance(one, ast.FunctionDef) and one.decorator_list and ast.get_docstring(one) is not None:
            marks = [mark for mark in one.decorator_list if "operator" in new.code(mark)]
            if any(new.text.value.rindex("@", 0, new.range(mark)[0]) == at for mark in marks):
                return True
    return False


def _inserted(
    source: Source, edits: Sequence[TextEdit], regions: Sequence[Region], at: int, text: str
) -> tuple[TextEdit, ...]:
    """The edits with a text at an offset of what they give: in the edit that it lies in, else as one of its own."""
    shift = 0
    for number, (edit, (start, end)) in enumerate(zip(edits, regions, strict=True)):
        if start <= at <= end:
            longer = edit.text[: at - start] + text + edit.text[at - start :]
            return (*edits[:number], TextEdit(edit.path, edit.span, longer), *edits[number + 1 :])
        if start > at:
            break
        shift = end - source.text.offset(edit.span.end)
    return (*edits, TextEdit(source.path, source.between(at - shift, at - shift), text))
