"""The names of operators that a mend adds to a file: theirs alone in a process, and names that torch takes. Pure.

torch keeps operators by name in the whole process, and the last one of a name takes the place of those before. Two files may
be loaded under one module name (plugins), so the namespace holds a checksum of the file's own path, made when it is loaded. A
notebook has a kernel for itself; a cell that is run again takes the operator's place, which is what it is run for.
"""

from __future__ import annotations

import keyword
import re

from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit
from graphmend_lsp.notebook import SUFFIX, is_notebook


def qualified(source: Source, name: str) -> tuple[str, TextEdit | None]:
    """The text of an operator's name with its namespace, the module's and the file's, and the import that it needs.

    torch takes ASCII identifiers only. A file that is no such name (``train-gpt.py``) is run under one that is, or imported
    under its own: there the module's name is written out.
    """
    if is_notebook(source.path):  # a kernel knows no __file__
        stem = re.sub("[^0-9A-Za-z_]", "_", source.path.replace("\\", "/").rpartition("/")[2].removesuffix(SUFFIX))
        return f'"_{stem.lstrip("_")}::{name}"', None
    checksum, imported = spell(source, "zlib.crc32", source.tree)
    path = f"{{{checksum}(__file__.encode())}}"
    stem = source.path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    if stem.isidentifier() and stem.isascii() and not keyword.iskeyword(stem):
        return f"f\"{{__name__.replace('.', '_')}}_{path}::{name}\"", imported
    module = re.sub("[^0-9A-Za-z_]", "_", stem).lstrip("_")
    return f'f"_{module}_{path}::{name}"', imported
