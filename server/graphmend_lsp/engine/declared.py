"""What a mend takes for granted by what it writes, read off the text before and after it: no rule can forget it. Pure.

* A method that takes one parameter more is called and overridden elsewhere.
* An operator that is registered under the name of its module alone is another file's, too, that is loaded under it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from graphmend_lsp.model import Assumption, Span
from graphmend_lsp.text import Text

Places = tuple[tuple[str, Span], ...]


def declared(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Assumption, ...]:
    """The assumptions of all changes together; `old` and `new` are the texts of the changed files, by path."""
    found: list[Assumption] = []
    for path, text in new.items():
        before, after = _parsed(old.get(path, "")), _parsed(text)
        if before is None or after is None:
            continue
        found += _parameters(path, Text(old.get(path, "")), before, after)
        found += _names(path, before, after)
    return tuple(dict.fromkeys(found))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError):
        return None


def _parameters(path: str, text: Text, before: ast.Module, after: ast.Module) -> Iterator[Assumption]:
    methods = dict(_methods(before))
    for name, node in _methods(after):
        known = methods.get(name)
        if known is None:
            continue
        more = [one for one in _names_of(node) if one not in _names_of(known)]
        if more:
            span = text.span_from_utf8(known.lineno, known.col_offset, known.lineno, known.col_offset + len("def"))
            words = f"every caller and override of `{name}` accepts `{more[0]}`"
            yield Assumption("callers", words, ((path, span),))


def _methods(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{owner.name}.{node.name}", node


def _names_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _names(path: str, before: ast.Module, after: ast.Module) -> Iterator[Assumption]:
    """`path` is where the operators are; they stand for no place of the old text."""
    known = {ast.dump(one) for one in _registered(before)}
    for one in _registered(after):
        names = {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
        if ast.dump(one) not in known and "__name__" in names and "__file__" not in names:
            file = path.replace("\\", "/").rsplit("/", 1)[-1]
            yield Assumption("one-name", f"no other file is imported under the name of {file}")


def _registered(tree: ast.Module) -> Iterator[ast.expr]:
    """The names under which operators are registered."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "custom_op":
            yield from node.args[:1]
