"""The names of operators that a mend adds to a file: theirs alone in a process, and names that torch takes. Pure."""

from __future__ import annotations

import keyword
import re

from graphmend_lsp.mending.syntax.source import Source


def qualified(source: Source, name: str) -> str:
    """The text of an operator's name with its namespace, the module's: ``f"{__name__...}::name"``.

    torch takes ASCII identifiers only. A file that is no such name (``train-gpt.py``) is run under one that is, or imported
    under its own: there the namespace is written out.
    """
    stem = source.path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    if stem.isidentifier() and stem.isascii() and not keyword.iskeyword(stem):
        return f"f\"{{__name__.replace('.', '_')}}::{name}\""
    return f'"_{re.sub("[^0-9A-Za-z_]", "_", stem).lstrip("_")}::{name}"'
