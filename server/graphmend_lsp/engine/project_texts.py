"""The texts of the project around a file, as many as may be looked at. Reads files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from graphmend_lsp.engine.entries import python_files
from graphmend_lsp.engine.imports import project_folders

_MOST_FILES, _MOST_CHARACTERS = 300, 1 << 20


def project_texts(top: str) -> Iterator[tuple[str, str]]:
    """The files below a folder with their texts, as many as may be looked at."""
    for number, path in enumerate(python_files((top,))):
        if number >= _MOST_FILES:
            return
        try:
            if os.path.getsize(path) < _MOST_CHARACTERS:
                yield path, Path(path).read_text("utf-8", "replace")
        except OSError:
            continue


def is_named_elsewhere(path: str, name: str) -> bool:
    """Whether another file of the project has a word in it, or may have: the project is not seen, or only in part."""
    top = next(iter(project_folders(path)), None)
    if top is None or not os.path.isabs(path):
        return True
    files = list(python_files((top,)))
    if len(files) > _MOST_FILES or any(_size(one) >= _MOST_CHARACTERS for one in files):
        return True
    word, own = re.compile(rf"\b{re.escape(name)}\b"), os.path.realpath(path)
    return any(os.path.realpath(one) != own and word.search(text) for one, text in project_texts(top))


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return _MOST_CHARACTERS
