"""The `graphmend_entry` that a code action writes for a file without one, to be filled in. Pure."""

from __future__ import annotations

import ast

from graphmend_lsp.lsp.documents import Document
from graphmend_lsp.model import Span, TextEdit
from graphmend_lsp.text import Text


def stub_edit(document: Document) -> tuple[TextEdit, ...]:
    """The edit that adds a `graphmend_entry` at the end of the document; nothing when the text does not parse."""
    written = stub(document.text.value)
    if not written:
        return ()
    text = document.text
    end = text.position(len(text.value))
    ending = line_end(text)
    before = "" if end.column == 1 and end.line > 1 else ending
    body = before + ending + ending + written.replace("\n", ending)
    return (TextEdit(document.name, Span(end, end), body),)


def stub(source: str) -> str:
    """The function for the last module class (else the last compiled function) of a source; empty when it has none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    model = next(
        (node for node in reversed(tree.body) if isinstance(node, ast.ClassDef) and _method(node, "forward")), None
    )
    if model is not None:
        made = f"{model.name}({_arguments(_method(model, '__init__'), skip_self=True, value='...')})"
        called = _method(model, "forward")
        return _function(f"model = {made}", "model", _inputs(called, skip_self=True))
    function = next((node for node in reversed(tree.body) if _is_compiled(node)), None)
    if isinstance(function, ast.FunctionDef):
        return _function("", function.name, _inputs(function, skip_self=False))
    return ""


def target_line(source: str) -> int | None:
    """The 1-based line of what the stub is about, where the code lens goes."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in reversed(tree.body):
        if (isinstance(node, ast.ClassDef) and _method(node, "forward")) or _is_compiled(node):
            assert isinstance(node, (ast.ClassDef, ast.FunctionDef))
            return node.lineno
    return None


def line_end(text: Text) -> str:
    """How the document ends its lines."""
    first = text.value[: text.starts[1]] if text.line_count > 1 else "\n"
    return "\r\n" if first.endswith("\r\n") else first[-1:]


def _function(setup: str, called: str, inputs: list[str]) -> str:
    lines = [
        "def graphmend_entry():",
        '    """What GraphMend runs to find graph breaks: a callable and its arguments."""',
        "    import torch",
        "",
    ]
    lines += [f"    {setup}"] if setup else []
    lines += [f"    {name} = torch.randn(2, 8)  # the shape and dtype that {called} takes" for name in inputs]
    ending = f"({', '.join(inputs)}{',' if len(inputs) == 1 else ''})"
    return "\n".join([*lines, f"    return {called}, {ending}", ""])


def _inputs(function: ast.FunctionDef | None, *, skip_self: bool) -> list[str]:
    return _required(function, skip_self=skip_self) if function else []


def _arguments(function: ast.FunctionDef | None, *, skip_self: bool, value: str) -> str:
    return ", ".join(f"{name}={value}" for name in _required(function, skip_self=skip_self)) if function else ""


def _required(function: ast.FunctionDef, *, skip_self: bool) -> list[str]:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = names[: len(names) - len(function.args.defaults)]
    return names[1:] if skip_self else names


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name), None)


def _is_compiled(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    decorators = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return any(ast.unparse(item) in ("torch.compile", "compile") for item in decorators)
