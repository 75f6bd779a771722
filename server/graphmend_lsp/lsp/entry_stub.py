"""The `graphmend_entry` that a code action writes for a file without one, to be filled in. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from graphmend_lsp.lsp.documents import Document
from graphmend_lsp.model import Position, Span, TextEdit
from graphmend_lsp.text import Text


@dataclass(frozen=True, slots=True)
class Stub:
    """What to write and for what: `line` (1-based) is the definition that it is about, None when there is none."""

    edits: tuple[TextEdit, ...] = ()
    line: int | None = None


def make_stub(document: Document, about: str = "", so_far: str = "") -> Stub:
    """A `graphmend_entry` for the last module class, else the last compiled function, added at the document's end.

    `about` is what inputs could not be made up for, and `so_far` what was, as lines of Python: it is about that, then.
    """
    text = document.text
    try:
        tree = ast.parse(text.value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Stub()
    name, _, method = about.partition(".")
    definitions = [node for node in reversed(tree.body) if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    node = next((node for node in definitions if node.name == name), None)
    node = node or next((node for node in definitions if _is_model(node)), None)
    node = node or next((node for node in definitions if _is_compiled(node)), None)
    known = _known(so_far)
    if isinstance(node, ast.ClassDef):
        arguments = ", ".join(f"{name}=..." for name in _required(_method(node, "__init__"), skip_self=True))
        inputs = _required(_method(node, method or "forward"), skip_self=True)
        called = f"model.{method}" if method else "model"
        written = _function(known.pop("model", f"{node.name}({arguments})"), called, inputs, known)
    elif isinstance(node, ast.FunctionDef):
        written = _function("", node.name, _required(node, skip_self=False), known)
    else:
        return Stub()
    end = _end(document, node.lineno)
    ending = line_end(text)
    before = "" if end.column == 1 and end.line > 1 else ending
    body = before + ending + ending + written.replace("\n", ending)
    return Stub((TextEdit(document.name, Span(end, end), body),), node.lineno)


def _end(document: Document, line: int) -> Position:
    """Where the entry is written: at the document's end; in a notebook, at that of the cell of what it is about."""
    text, notebook = document.text, document.notebook
    if notebook is None:
        return text.position(len(text.value))
    number = notebook.program.cell_at(line)
    last = notebook.program.first_lines[number] + notebook.cells[number].text.line_count - 1
    return Position(last, len(text.line(last)) + 1)


def line_end(text: Text) -> str:
    """How the document ends its lines."""
    first = text.value[: text.starts[1]] if text.line_count > 1 else "\n"
    return "\r\n" if first.endswith("\r\n") else first[-1:]


def _known(so_far: str) -> dict[str, str]:
    """Names and what they are, from lines ``name = expression``; nothing when they read otherwise."""
    lines = [line.partition(" = ") for line in so_far.splitlines() if line.strip()]
    return {name: value for name, _, value in lines if name.isidentifier() and value}


def _input(name: str, called: str) -> str:
    if name.endswith(("ids", "idx", "index", "tokens", "labels", "targets")):
        return f"torch.randint(0, 100, (2, 16))  # the ids that {called} takes"
    if name.endswith("mask"):
        return f"torch.ones(2, 16, dtype=torch.long)  # the shape and dtype that {called} takes"
    if name in ("pixel_values", "image", "images", "img"):
        return f"torch.randn(2, 3, 224, 224)  # the shape that {called} takes"
    return f"torch.randn(2, 8)  # the shape and dtype that {called} takes"


def _function(model: str, called: str, inputs: list[str], known: Mapping[str, str]) -> str:
    lines = [
        "def graphmend_entry():",
        '    """What GraphMend runs to find graph breaks: a callable and its arguments."""',
        "    import torch",
        "",
    ]
    lines += [f"    model = {model}"] if model else []
    lines[2:3] = [f"    {line}" for line in _imports([model, *known.values()])]
    inputs = inputs or list(known)
    lines += [f"    {name} = {known.get(name) or _input(name, called)}" for name in inputs]
    more = [name for name in known if name not in inputs]
    lines += [f"    {name} = {known[name]}" for name in more]
    ending = f"({', '.join(inputs)}{',' if len(inputs) == 1 else ''})"
    if more or (inputs and all(name in known for name in inputs)):
        ending = "{" + ", ".join(f'"{name}": {name}' for name in [*inputs, *more]) + "}"
    return "\n".join([*lines, f"    return {called}, {ending}", ""])


def _imports(expressions: Iterable[str]) -> list[str]:
    """What a stub's expressions need besides the names of the file, as GraphMend writes them."""
    names = {node.id for words in expressions for node in _walked(words) if isinstance(node, ast.Name)}
    found = [f"import {name}" for name in sorted(names & {"collections", "enum", "math", "numpy"})]
    found += ["from types import SimpleNamespace"] if "SimpleNamespace" in names else []
    return [*found, *([""] if found else []), "import torch", *(["from torch import nn"] if "nn" in names else [])]


def _walked(expression: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(expression, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return iter(())


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
