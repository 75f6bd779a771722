"""The files of its own package that a file imports: what rules may read of the functions that it calls."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.imports import import_root, imports_of, parsed

_MOST = 40
_HOPS = 4


def imported_by(path: str, sources: Sources) -> Mapping[str, str]:
    """The texts of these files by path, those from which a package takes the names included; of an unreadable file none."""
    text = sources.get(path)
    root = import_root(path)
    top = os.path.relpath(os.path.abspath(path), root).split(os.sep)[0]
    found: dict[str, str] = {}
    for level, name in imports_of(text) if text is not None else ():
        parts = name.split(".") if name else []
        inside = parts and (parts[0] == top if level == 0 else _above(path, level).startswith(root))
        for file in _files(path, root, level, parts, sources) if inside else ():
            if (other := sources.get(file)) is not None:
                found[file] = other
        if len(found) >= _MOST:
            break
    return dict(list(found.items())[:_MOST])


def _files(path: str, root: str, level: int, parts: list[str], sources: Sources, hops: int = _HOPS) -> Iterator[str]:
    """The file of a module; or, of a name that a module takes from another, the files on the way to where it is made."""
    base = os.path.join(root if level == 0 else _above(path, level), *parts)
    if os.path.isfile(f"{base}.py"):
        yield f"{base}.py"
        return
    folder, name = os.path.split(base)
    file = next((one for one in (os.path.join(folder, "__init__.py"), f"{folder}.py") if os.path.isfile(one)), None)
    if file is None or not hops or (text := sources.get(file)) is None or re.search(_MAKES.format(name), text, re.M):
        return
    origin = _taken(text).get(name)
    if origin is not None:
        yield file
        yield from _files(file, root, origin[0], origin[1].split("."), sources, hops - 1)
        if origin[0] or origin[1].split(".")[0] == os.path.relpath(file, root).split(os.sep)[0]:
            yield from _module(file, root, origin)


_MAKES = r"^(?:async def|def|class) {0}\b|^{0}\s*[:=]"


def _module(path: str, root: str, origin: tuple[int, str]) -> Iterator[str]:
    """The file of the module that a name is taken from."""
    parts = origin[1].split(".")[:-1]
    base = os.path.join(root if origin[0] == 0 else _above(path, origin[0]), *parts)
    yield from (one for one in (f"{base}.py", os.path.join(base, "__init__.py")) if os.path.isfile(one))


def _above(path: str, level: int) -> str:
    base = os.path.abspath(path)
    for _ in range(level):
        base = os.path.dirname(base)
    return base


@lru_cache(maxsize=256)
def _taken(text: str) -> Mapping[str, tuple[int, str]]:
    """Where a module takes names from: (level, dotted name) by the name that it gives them."""
    tree = parsed(text)
    return {
        one.asname or one.name: (statement.level, f"{statement.module}.{one.name}" if statement.module else one.name)
        for statement in (tree.body if tree is not None else ())
        if isinstance(statement, ast.ImportFrom)
        for one in statement.names
    }
