"""Texts with some functions as they were before they were mended, to see what the mends in them are good for. Pure."""

from __future__ import annotations

import ast
import io
from collections.abc import Collection, Iterator, Mapping

Lines = tuple[int, int]  # the first line of a function, its decorators included, and the one behind it; both 0-based
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def restored(
    old: Mapping[str, str], new: Mapping[str, str], functions: Collection[tuple[str, str]]
) -> dict[str, str] | None:
    """The new texts with these functions (a file and a name, qualified or not) as the old texts have them.

    None where one of them is not found in both texts of its file, or is found more than once.
    """
    texts = dict(new)
    for path, name in functions:
        if path not in old or path not in texts:
            return None
        before, after = io.StringIO(old[path], "").readlines(), io.StringIO(texts[path], "").readlines()
        was, now = _lines_of(old[path], name), _lines_of(texts[path], name)
        if was is None or now is None:
            return None
        texts[path] = "".join((*after[: now[0]], *before[was[0] : was[1]], *after[now[1] :]))
    return texts


def _lines_of(text: str, name: str) -> Lines | None:
    """The lines of the only function of that name."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = list(_functions(tree, ""))
    fit = [lines for known, lines in found if known == name]
    fit = fit or [lines for known, lines in found if known.rpartition(".")[2] == name]
    return fit[0] if len(fit) == 1 else None


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Lines]]:
    """Every function with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            first = min((child.lineno, *(one.lineno for one in child.decorator_list)))
            yield prefix + child.name, (first - 1, child.end_lineno or child.lineno)
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)
