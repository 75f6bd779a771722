"""The names of all settings, of the editor and of ``[tool.graphmend]``, so that one that is misspelt is told. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

PROJECT = (
    "entries", "device", "mode", "explore", "guess", "timeout", "memory", "python", "assume", "support", "comments",
)  # fmt: skip
SERVER = (
    "enable", "interpreter", "run", "entries", "device", "mode", "explore", "guess", "comments", "codeLens", "inlayHints",
    "logLevel",
    "worker.command", "worker.pathMapping", "worker.timeout", "worker.memory",
)  # fmt: skip
EXTENSION = ("path", "args", "importStrategy", "environment.source", "showNotifications", "trace.server")
_ELSEWHERE = {  # what one of the two calls otherwise
    "interpreter": "python", "python": "interpreter",
}  # fmt: skip


def unknown(given: Iterable[str], known: Iterable[str], prefix: str) -> tuple[str, ...]:
    """A sentence for each key that is not known, with the nearest that is; `prefix` is what stands before a key."""
    names = tuple(known)
    return tuple(f"{prefix}{key} is unknown and ignored{_nearest(key, names)}" for key in given if key not in names)


def _nearest(key: str, names: tuple[str, ...]) -> str:
    folded = {name.replace(".", "").lower(): name for name in names}
    asked = key.replace("_", "").replace("-", "").replace(".", "").lower()
    other = _ELSEWHERE.get(key)
    near = [other] if other in names else [folded[one] for one in difflib.get_close_matches(asked, folded, 1, 0.6)]
    return f"; did you mean {near[0]}?" if near else "."
