"""URIs as LSP writes them, and the names of what positions are counted in. Pure, and without lsprotocol: what the
client tells in `initialize` is read with it.
"""

from __future__ import annotations

import os
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

VIRTUAL = ".virtual_documents"
Encoding = Literal["utf-8", "utf-16", "utf-32"]


def path_of(uri: str) -> str | None:
    """The file that a ``file:`` URI names, None for anything else (``untitled:``, ``vscode-notebook-cell:``)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file":
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/") if path[2:3] == ":" else f"//{parts.netloc}{path}"
        return os.path.normpath(path)
    return os.path.normpath(path) if path.startswith("/") else None


def is_below(path: str, folder: str) -> bool:
    """Whether a file lies in a folder, by its name."""
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def folder_of_virtual(path: str) -> str | None:
    """The folder of the notebook that JupyterLab shows as this document (``ROOT/.virtual_documents/FOLDER/nb.ipynb``), from
    which its kernel imports; None for any other document."""
    root, found, rest = path.replace(os.sep, "/").partition(f"/{VIRTUAL}/")
    return os.path.normpath(os.path.join(root or "/", os.path.dirname(rest))) if found else None


def uri_of(path: str) -> str:
    """The ``file:`` URI of an absolute path."""
    posix = path.replace("\\", "/") if os.name == "nt" else path
    if posix.startswith("//"):
        return "file:" + quote(posix)
    return "file://" + quote(posix if posix.startswith("/") else "/" + posix)
