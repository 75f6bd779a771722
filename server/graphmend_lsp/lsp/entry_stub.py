"""The `graphmend_entry` that a code action writes for a file without one, to be filled in. Pure."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.lsp.documents import Document
from graphmend_lsp.model import Span, TextEdit
from graphmend_lsp.text import Text


@dataclass(frozen=True, slots=True)
class Stub:
    """What to write and for what: `line` (1-based) is the definition that it is about, None when there is none."""

    edits: tuple[TextEdit, ...] = ()
    line: int | None = None


def make_stub(document: Document) -> Stub:
    """A `graphmend_entry` for the last module class, else the last compiled function, added at the document's end."""
    text = document.text
    try:
        tree = ast.parse(text.value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Stub()
    about = next((node for node in reversed(tree.body) if _is_model(node)), None)
    about = about or next((node for node in reversed(tree.body) if _is_compiled(node)), None)
    if isinstance(about, ast.ClassDef):
        arguments = ", ".join(f"{name}=..." for name in _required(_method(about, "__init__"), skip_self=True))
        inputs = _required(_method(about, "forward"), skip_self=True)
        written = _function(f"model = {about.name}({arguments})", "model", inputs)
    elif isinstance(about, ast.FunctionDef):
        written = _function("", about.name, _required(about, skip_self=False))
    else:
        return Stub()
    end = text.position(len(text.value))
    ending = line_end(text)
    before = "" if end.column == 1 and end.line > 1 else ending
    body = before + ending + ending + written.replace("\n", ending)
    return Stub((TextEdit(document.name, Span(end, end), body),), about.lineno)


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


def _required(function: ast.FunctionDef | None, *, skip_self: bool) -> list[str]:
    if function is None:
        return []
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = names[: len(names) - len(function.args.defaults)]
    return names[1:] if skip_self else names


def _is_model(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and _method(node, "forward") is not None


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name), None)


def _is_compiled(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    decorators = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return any(ast.unparse(item) in ("torch.compile", "compile") for item in decorators)
