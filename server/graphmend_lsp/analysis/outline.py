"""A file cut into stretches that parse on their own, and what each declares: imports, functions, classes, globals.

This is what makes a keystroke cheap: only the stretch that changed is parsed again, and a stretch that does not parse
(half-typed) costs only its own findings. No inference of values here; see `flow` and `reach`.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

# A definition or a decorator in the first column begins a stretch. Inside a string or parentheses that would cut
# wrongly, but then at least two stretches do not parse, and the file is parsed as a whole.
_BOUNDARY = re.compile(r"^(?:(@)|class\b|def\b|async[ \t]+def\b)", re.MULTILINE)
_METHOD = re.compile(r"^[ \t]+(?:@|class\b|def\b|async[ \t]+def\b)")
_TOP_LEVEL = re.compile(r"(?!class\b|def\b|async\b|@)\w")
_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, SystemError)
_REPAIRS = 3


@dataclass(eq=False, slots=True)
class Function:
    """A function or method, by its qualified name. `owner` is the class it is a method of, if any.

    `memo` keeps what earlier analyses of this very text found (filled by `reach`).
    """

    name: str
    node: FunctionNode
    owner: str | None
    decorators: tuple[ast.expr, ...]
    memo: list[Any] = field(default_factory=list)
    stored: frozenset[str] | None = None
    generator: bool | None = None

    def yields(self) -> bool:
        """Whether the function is (or holds) a generator."""
        if self.generator is None:
            self.generator = any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(self.node))
        return self.generator

    def stores(self) -> frozenset[str]:
        """The attributes of its first argument that a method stores."""
        if self.stored is None:
            arguments = [*self.node.args.posonlyargs, *self.node.args.args]
            first = arguments[0].arg if arguments else ""
            self.stored = frozenset(
                part.attr
                for part in ast.walk(self.node)
                if isinstance(part, ast.Attribute)
                and isinstance(part.ctx, ast.Store)
                and isinstance(part.value, ast.Name)
                and part.value.id == first
            )
        return self.stored


@dataclass(eq=False, slots=True)
class Class:
    """A class of the top level (or of a function): its bases as written, its methods by name, its annotations."""

    name: str
    bases: tuple[ast.expr, ...]
    methods: dict[str, Function]
    annotations: dict[str, ast.expr]


@dataclass(eq=False, slots=True)
class Chunk:
    """A stretch of the file that was parsed by itself; all line numbers in it are relative to its first line."""

    text: str
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    assigned: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    compiled: list[ast.Call] = field(default_factory=list)
    mentions_compile: bool = False


def cut(source: str) -> list[str]:
    """The stretches of a source in order; joined they are the source again."""
    starts = [0]
    decorated = False
    for match in _BOUNDARY.finditer(source):
        if not decorated and match.start() > 0:
            starts.append(match.start())
        decorated = match.group(1) is not None
    return [source[a:b] for a, b in zip(starts, [*starts[1:], len(source)], strict=True)]


def outline(source: str) -> list[tuple[int, Chunk]]:
    """The chunks of a source that parse, each with the number of lines before it. Never raises."""
    texts = cut(source)
    chunks = [_KNOWN.chunk(text) for text in texts]
    if chunks.count(None) > 1:
        texts, chunks = _joined(texts, chunks)
    found: list[tuple[int, Chunk]] = []
    line = 0
    for text, chunk in zip(texts, chunks, strict=True):
        if chunk is None:
            chunk = _repaired(text)
        if chunk is not None:
            found.append((line, chunk))
        line += _line_ends(text)
    return found


def _joined(texts: list[str], chunks: list[Chunk | None]) -> tuple[list[str], list[Chunk | None]]:
    """The stretches with those joined that were cut inside a string or parentheses: together they parse."""
    whole = "".join(texts)
    chunk = _KNOWN.chunk(whole)
    if chunk is not None:
        return [whole], [chunk]
    texts, chunks = list(texts), list(chunks)
    for first in range(len(texts)):
        if first >= len(texts) or chunks[first] is not None:
            continue
        alone = _repaired(texts[first])
        for last in [at for at in range(first + 1, len(texts)) if chunks[at] is None][:_REPAIRS]:
            together = "".join(texts[first : last + 1])
            chunk = _KNOWN.chunk(together) or (_repaired(together) if alone is None else None)
            if chunk is not None:
                texts[first : last + 1] = [together]
                chunks[first : last + 1] = [chunk]
                break
    return texts, chunks


def read(text: str) -> Chunk | int:
    """What a text declares, or the line (1-based) of what keeps it from being read; never warns, never raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _declarations(text, ast.parse(text))
    except SyntaxError as error:
        return error.lineno or 1
    except _PARSE_ERRORS:
        return 1


def walk_body(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the blocks in it, functions and classes not entered."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from walk_body(getattr(statement, name, None) or [])
        for handler in getattr(statement, "handlers", None) or []:
            yield from walk_body(handler.body)


class _Known:
    """Chunks by their text: the memory of a pure function, bounded by the characters it holds (about 30 bytes each)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._chunks: OrderedDict[str, Chunk | int] = OrderedDict()
        self._lock = threading.Lock()

    def chunk(self, text: str) -> Chunk | None:
        """What the text declares, None when it does not parse."""
        known = self.read(text)
        return known if isinstance(known, Chunk) else None

    def read(self, text: str) -> Chunk | int:
        with self._lock:
            if text in self._chunks:
                self._chunks.move_to_end(text)
                return self._chunks[text]
        chunk = read(text)
        with self._lock:
            if text not in self._chunks:
                self._chunks[text] = chunk
                self._held += len(text)
                while self._held > self._limit and len(self._chunks) > 1:
                    old, _ = self._chunks.popitem(last=False)
                    self._held -= len(old)
        return chunk


_KNOWN = _Known(limit=1_000_000)


def _repaired(text: str) -> Chunk | None:
    """The chunk with the method (or the line of top-level code) around each syntax error blanked, else None."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    for _ in range(_REPAIRS + 1):
        known = _KNOWN.read("".join(lines))
        if isinstance(known, Chunk):
            return known
        at = min(known, len(lines)) - 1
        blanked = _without_line(lines, at) if _TOP_LEVEL.match(lines[at]) else _without_method(lines, at)
        if blanked is None:
            return None
        lines = blanked
    return None


def _without_method(lines: list[str], at: int) -> list[str] | None:
    """The lines with the innermost definition inside a class around line `at` (0-based) replaced by `pass`."""
    first = next((i for i in range(at, -1, -1) if _METHOD.match(lines[i])), None)
    if first is None:
        return None
    depth = _indent(lines[first])
    while first > 0 and lines[first - 1].lstrip().startswith("@") and _indent(lines[first - 1]) == depth:
        first -= 1
    last = first + 1
    while last < len(lines) and not (_METHOD.match(lines[last]) and _indent(lines[last]) <= depth and last > at):
        last += 1
    ending = [line[len(line.rstrip("\r\n")) :] for line in lines[first:last]]
    blank = [lines[first][:depth] + "pass" + ending[0], *ending[1:]]
    return [*lines[:first], *blank, *lines[last:]]


def _without_line(lines: list[str], at: int) -> list[str]:
    ending = lines[at][len(lines[at].rstrip("\r\n")) :]
    return [*lines[:at], ending, *lines[at + 1 :]]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _declarations(text: str, tree: ast.Module) -> Chunk:
    chunk = Chunk(text)
    for statement in walk_body(tree.body):
        _declare(chunk, statement, "")
    chunk.mentions_compile = "compile" in text
    if chunk.mentions_compile:
        chunk.compiled = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _names_compile(node.func)]
    return chunk


def _names_compile(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in ("compile", "optimize")) or (
        isinstance(node, ast.Name) and node.id == "compile"
    )


def _declare(chunk: Chunk, statement: ast.stmt, prefix: str) -> None:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        _declare_function(chunk, statement, prefix)
    elif isinstance(statement, ast.ClassDef):
        _declare_class(chunk, statement, prefix)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        chunk.imports.update(imported(statement))
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            for name, value in targets(target, statement.value):
                chunk.assigned.setdefault(name, []).append(value)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and isinstance(statement.target, ast.Name):
        value = statement.value if isinstance(statement, ast.AnnAssign) else None
        chunk.assigned.setdefault(statement.target.id, []).append(value)


def _declare_function(chunk: Chunk, node: FunctionNode, prefix: str) -> None:
    name = prefix + node.name
    chunk.functions[name] = Function(name, node, None, tuple(node.decorator_list))
    _declare_inner(chunk, node, name)


def _declare_inner(chunk: Chunk, node: FunctionNode, name: str) -> None:
    for inner in walk_body(node.body):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _declare_function(chunk, inner, f"{name}.<locals>.")
        elif isinstance(inner, ast.ClassDef):
            _declare_class(chunk, inner, f"{name}.<locals>.")


def _declare_class(chunk: Chunk, node: ast.ClassDef, prefix: str) -> None:
    name = prefix + node.name
    methods: dict[str, Function] = {}
    annotations: dict[str, ast.expr] = {}
    for statement in walk_body(node.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            qualified = f"{name}.{statement.name}"
            methods[statement.name] = Function(qualified, statement, name, tuple(statement.decorator_list))
            _declare_inner(chunk, statement, qualified)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotations[statement.target.id] = statement.annotation
        elif isinstance(statement, ast.ClassDef):
            _declare_class(chunk, statement, f"{name}.")
    chunk.classes[name] = Class(name, tuple(node.bases), methods, annotations)


def imported(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Local name -> dotted name of what an import statement binds; relative imports keep their dots."""
    bound: dict[str, str] = {}
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            bound[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]
    else:
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            dotted = f"{module}.{alias.name}" if not module.endswith(".") else module + alias.name
            bound[alias.asname or alias.name] = dotted
    return bound


def targets(target: ast.expr, value: ast.expr | None) -> list[tuple[str, ast.expr | None]]:
    """The names an assignment binds, each with the expression it gets where that is written out."""
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, (ast.Tuple, ast.List)):
        values: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            values = list(value.elts)
        return [pair for each, part in zip(target.elts, values, strict=True) for pair in targets(each, part)]
    if isinstance(target, ast.Starred):
        return targets(target.value, None)
    return []
