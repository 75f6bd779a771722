"""The text of the support module: whole, or the part of it that the mended files of a project import.

A part holds the definitions that are imported and all that they use, unchanged, in their order. Reads one file of this package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import Position, Span, TextEdit
from graphmend_lsp.text import Text

_VERSION = re.compile(r"^VERSION = (\d+)$", re.MULTILINE)
_MARK = "What code that GraphMend has mended imports."
_OFFERED = re.compile(r"^__all__ = \[(.*?)\]$", re.MULTILINE | re.DOTALL)


@lru_cache(maxsize=256)
def support_text(names: frozenset[str] | None = None) -> str:
    """The text of the support module that offers these names; None stands for all that it has.

    Raises:
        KeyError: the module has no such name.
    """
    whole = (Path(__file__).parents[1] / "support" / f"{SUPPORT}.py").read_text("utf-8")
    every = names_of(whole)
    if names is None or names == every:
        return whole
    if unknown := names - every:
        raise KeyError(f"the support module has no {', '.join(sorted(unknown))}")
    return _part(whole, names)


def version_of(text: str) -> int | None:
    """The version of a support module; None for a file that is not ours."""
    found = _VERSION.search(text)
    return int(found[1]) if found is not None and _MARK in text else None


def names_of(text: str) -> frozenset[str]:
    """What a support module offers."""
    found = _OFFERED.search(text)
    return frozenset(re.findall(r'"(\w+)"', found[1])) if found is not None else frozenset()


def joined(old: str, new: str) -> str:
    """The support module that offers what both texts do, `old` itself where that is enough; `old` may be empty.

    A module of a newer GraphMend stays as it is.
    """
    own, now = version_of(support_text()) or 0, version_of(old) or 0
    names = names_of(old) | names_of(new)
    if now > own or (now == own and names == names_of(old)):
        return old
    return support_text(names & names_of(support_text()))


def is_foreign(text: str | None) -> bool:
    """Whether a file is not ours, by its text; an empty one may become ours: an editor creates it before it writes."""
    return text is not None and bool(text.strip()) and version_of(text) is None


def fitted(edit: TextEdit, now: Text | None) -> TextEdit | None:
    """An edit that writes the support module, for what the file holds now, which is ours; None where that already is enough.

    Other mends may have written the file, or more of it, since the edit was made.
    """
    old = now or Text("")
    new = joined(old.value, edit.text)
    if new == old.value:
        return None
    return replace(edit, span=Span(Position(1, 1), old.position(len(old.value))), text=new)


def _part(whole: str, names: frozenset[str]) -> str:
    lines = whole.splitlines(keepends=True)
    body = ast.parse(whole).body
    kept, used = _needed(body, names)
    written = ""
    end = gap = 0
    for at, node in enumerate(body):
        text = "".join(lines[end : node.end_lineno])  # with the comments before it
        end = node.end_lineno or node.lineno
        gap = max(gap, len(text) - len(text.lstrip("\n")))  # blank lines, also those before what is left out
        if "__all__" in _makes(node):
            text = "__all__ = [" + ", ".join(f'"{name}"' for name in sorted(names)) + "]\n"
        elif at not in kept:
            continue
        elif isinstance(node, ast.ImportFrom):
            alias = [one for one in node.names if (one.asname or one.name) in used or node.module == "__future__"]
            text = ast.unparse(ast.ImportFrom(node.module, alias, node.level)) + "\n"
        written += "\n" * gap + text.lstrip("\n")
        gap = 0
    return written


def _needed(body: list[ast.stmt], names: frozenset[str]) -> tuple[frozenset[int], frozenset[str]]:
    """The places of the statements that define these names, and of those that these need; and all that they use."""
    makers: dict[str, list[int]] = {}
    for at, node in enumerate(body):
        for made in _makes(node):
            makers.setdefault(made, []).append(at)
    kept = {at for at, node in enumerate(body) if _is_always(node)}
    used: set[str] = set()
    waiting = [*names, *(name for at in kept for name in _uses(body[at]))]
    while waiting:
        name = waiting.pop()
        used.add(name)
        for at in makers.get(name, ()):
            if at not in kept:
                kept.add(at)
                waiting.extend(_uses(body[at]))
    return frozenset(kept), frozenset(used)


def _is_always(node: ast.stmt) -> bool:
    """Whether every part has a statement: the docstring, and how the module is read."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__") or "VERSION" in _makes(node)


def _makes(node: ast.stmt) -> frozenset[str]:
    """What a statement of the module is for: the names that it binds or changes, else the keys and operators that it makes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return frozenset((node.name,))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return frozenset(one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).split(".")[0] for alias in node.names)
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return frozenset(
        text.split("(")[0] for text in texts
    )  # `_shared.setdefault("key", ...)`, `library.define("name(...) -> ...")`


def _uses(node: ast.stmt) -> Iterator[str]:
    """What a statement needs: names, operators that are read as attributes, keys; more than it needs at most."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
