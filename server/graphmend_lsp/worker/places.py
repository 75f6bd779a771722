"""Whose code a file is: the user's or an installed package's, Python's own library, torch, or this worker.

Pure, standard library only; asks nothing of torch but where it lies, and only when torch is loaded.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from typing import Literal

from .wire import Place

Kind = Literal["code", "stdlib", "torch", "logger", "worker"]

_HERE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_OWN = frozenset(name for _, _, names in os.walk(_HERE) for name in names)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

SUPPORT = "What code that GraphMend has mended imports."
"""How the text of the module begins that mends import from, whatever project it lies in."""


def kind_of(path: str) -> Kind:
    """Whose code `path` (a ``co_filename``) is. Files without a name of a file (``<string>``) are the user's code."""
    torch = sys.modules.get("torch")
    return _kind_of(path, getattr(torch, "__file__", None))


@lru_cache(maxsize=4096)
def _kind_of(path: str, torch_file: str | None) -> Kind:
    if path.startswith("<frozen "):
        return "stdlib"
    if torch_file is not None and path.startswith(os.path.dirname(torch_file) + os.sep):
        return "torch"
    if path.startswith("<") or not os.path.isabs(path):
        return "code"
    if path.startswith(_HERE) or (os.path.basename(path) in _OWN and os.path.realpath(path).startswith(_HERE)):
        return "worker"
    if is_installed(path):
        return "code"
    return "stdlib" if path.startswith(_stdlib()) else "code"


def is_installed(path: str) -> bool:
    """Whether a file lies in a folder of installed packages."""
    return any(part in path for part in _INSTALLED)


@lru_cache(maxsize=1)
def _stdlib() -> tuple[str, ...]:
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)}
    return tuple(f"{folder}{os.sep}" for folder in folders if folder)


def same_file(one: str, other: str) -> bool:
    """Whether two paths name one file, also when it does not exist (then: after resolving links of its folders)."""
    return one == other or canonical(one) == canonical(other)


def key_of(place: Place) -> tuple[object, ...]:
    """What two places that are the same share."""
    return (place["file"], place["line"], place["column"], place["end_line"], place["end_column"])


def canonical(path: str) -> str:
    """The one spelling of a path that all its spellings share."""
    return os.path.normcase(os.path.realpath(path))
