"""Where a function that is made of some statements of another one stands: directly behind that one, or at the top of the file.

Behind it, in the same class, the statements keep their indentation and their place in the text, so that a diff shows them as
they were; what follows them moves instead. Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.imports import add_function, dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, local_names
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

_CALL_NOTHING = frozenset(
    f"torch.{one}" for one in ("compile", "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast")
)
"""Decorators that do not call what they decorate while they make it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the new function stands. `behind` is None for the top of the file; `owner` is the class that it is in."""

    source: Source
    behind: Function | None = None
    owner: ast.ClassDef | None = None

    @property
    def indent(self) -> str:
        """What each line of the function begins with."""
        return self.source.indent if self.owner is not None else ""

    def called(self, name: str) -> str:
        """How the function is called: by its class, whose subclasses may have one of that name, too."""
        return name if self.owner is None else f"{self.owner.name}.{name}"

    def edit(self, lines: Sequence[str], *, takes_self: bool = False) -> TextEdit:
        """The edit that adds the function, given without indentation."""
        source = self.source
        if self.behind is None:
            return add_function(source, lines)
        if self.owner is not None and not takes_self:
            lines = ["@staticmethod", *lines]
        blank = 1 if self.owner is not None else 2
        at = edits.end_of_line(source, source.range(self.behind)[1])
        rest = source.text.value[at:]
        there = (len(rest) - len(rest.lstrip("\r\n"))) // len(source.newline)
        missing = source.newline * max(0, blank + 1 - there) if rest.strip() else ""
        text = source.newline.join(self.indent + one if one else one for one in lines)
        return TextEdit(source.path, source.between(at, at), source.newline * (blank + 1) + text + missing)


def spot_for(source: Source, function: Function, first: ast.stmt, last: ast.stmt) -> Spot:
    """Where statements of a function become one of their own, such that as few lines as can be change."""
    top = Spot(source)
    parent = source.parents.get(function)
    owner = parent if isinstance(parent, ast.ClassDef) else None
    outer: ast.stmt = function if owner is None else owner
    if outer not in source.tree.body or first not in function.body or not source.starts_line(first):
        return top
    if source.indentation(first) != source.indent * (1 if owner is None else 2):
        return top
    end = source.span(function).end.line
    moved, kept = end - source.span(last).end.line, source.span(last).end.line - source.span(first).start.line + 1
    if moved >= kept or _is_followed(source, function):
        return top
    below = source.tree.body[source.tree.body.index(outer) :]
    if any(isinstance(one, (ast.Import, ast.ImportFrom)) for statement in below for one in _own(statement)):
        return top
    if not all(_calls_nothing(source, one) for one in function.decorator_list):
        return top
    if owner is not None and not _is_plain(source, function, owner):
        return top
    return Spot(source, function, owner)


def _is_followed(source: Source, function: Function) -> bool:
    """Whether the function's text goes on behind its last statement: with a comment, or another statement on its line."""
    end = source.range(function)[1]
    column = len(source.indentation(function))
    for number, line in enumerate(source.text.value[end:].splitlines()):
        text = line.strip()
        if number == 0 and text and not text.startswith("#"):
            return True
        if number and text:
            return text.startswith("#") and len(line) - len(line.lstrip()) > column
    return False


def _own(statement: ast.stmt) -> list[ast.AST]:
    """A statement of the module with what runs with it."""
    return [statement] if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) else list(walk(statement))


def _calls_nothing(source: Source, decorator: ast.expr) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    builtin = any(is_builtin(source, node, one) for one in ("staticmethod", "classmethod", "property"))
    return builtin or dotted(source, node) in _CALL_NOTHING


def _is_plain(source: Source, function: Function, owner: ast.ClassDef) -> bool:
    """Whether the name of a class means it, and one more function in the class is seen by nothing."""
    name = owner.name
    bound = [one for one in source.tree.body if name in assigned(one)]
    shared = any(isinstance(one, (ast.Global, ast.Nonlocal)) and name in one.names for one in source.nodes)
    return bound == [owner] and not shared and name not in local_names(function) and _is_known(source, owner)


def _is_known(source: Source, owner: ast.ClassDef, depth: int = 8) -> bool:
    """Whether a class and its bases, up to modules of torch, do nothing with what a class holds."""
    if owner.decorator_list or owner.keywords or depth == 0:
        return False
    if any(getattr(one, "name", "") in ("__init_subclass__", "__getattribute__") for one in owner.body):
        return False
    for base in owner.bases:
        if is_builtin(source, base, "object") or (dotted(source, base) or "").startswith("torch.nn."):
            continue
        made = [one for one in source.tree.body if isinstance(base, ast.Name) and base.id in assigned(one)]
        if len(made) != 1 or not isinstance(made[0], ast.ClassDef) or not _is_known(source, made[0], depth - 1):
            return False
    return True
