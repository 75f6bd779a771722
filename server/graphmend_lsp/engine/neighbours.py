"""The files of its own package that a file imports: what rules may read of the functions that it calls."""

from __future__ import annotations

import os
from collections.abc import Mapping

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.imports import import_root, imports_of

_MOST = 40


def imported_by(path: str, sources: Sources) -> Mapping[str, str]:
    """The texts of these files by path; of a file that cannot be read none."""
    text = sources.get(path)
    root = import_root(path)
    top = os.path.relpath(os.path.abspath(path), root).split(os.sep)[0]
    found: dict[str, str] = {}
    for level, name in imports_of(text) if text is not None else ():
        parts = name.split(".") if name else []
        base = root if level == 0 else os.path.abspath(path)
        for _ in range(level):
            base = os.path.dirname(base)
        file = os.path.join(base, *parts) + ".py"
        inside = parts and (parts[0] == top if level == 0 else base.startswith(root))
        if inside and os.path.isfile(file) and (other := sources.get(file)) is not None:
            found[file] = other
        if len(found) >= _MOST:
            break
    return found
