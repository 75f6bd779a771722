"""Folders that a worker elsewhere sees under another path: paths go out mapped and come back. Pure; asks no file system.

Either side may be Windows or POSIX. Of several folders that fit, the longest wins; a path in none of them stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_DRIVE = re.compile(r"[A-Za-z]:[\\/]|[A-Za-z]:$")
_PATHS = frozenset({"file", "path"})  # keys of the wire under which a path stands
_BY_PATH = frozenset({"texts", "sources", "changed", "edited"})  # whose own keys are paths
_LISTS = frozenset({"roots"})


class BadPathMapError(ValueError):
    """What the user wrote is no mapping; the message says what one looks like."""


def parse_pair(written: str) -> tuple[str, str]:
    """``HERE=THERE`` as a user writes it; both absolute.

    Raises:
        BadPathMapError: not of that form.
    """
    here, sign, there = written.partition("=")
    if not sign or not _is_absolute(here) or not _is_absolute(there):
        raise BadPathMapError(f"{written!r} maps no folder. Write it as /FOLDER/HERE=/FOLDER/THERE, both absolute.")
    return here, there


@dataclass(frozen=True)
class PathMap:
    """Pairs (folder here, folder there)."""

    pairs: tuple[tuple[str, str], ...] = ()

    def there(self, path: str) -> str:
        """The path as the worker knows it."""
        return _mapped(path, self._outward)

    def here(self, path: str) -> str:
        """A path of the worker's as this side knows it."""
        return _mapped(path, self._inward)

    def words_here(self, words: str) -> str:
        """Words for people, or a traceback, with the worker's paths in them replaced."""
        if self._spoken is None:
            return words
        return self._spoken.sub(lambda match: self.here(match[0]), words)

    def params_there(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A request's parameters with every path in them mapped."""
        return {key: _walk(key, value, self.there, None) for key, value in params.items()} if self.pairs else {**params}

    def result_here(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """A result with every path in it mapped back, those in words for people too."""
        if not self.pairs:
            return {**result}
        return {key: _walk(key, value, self.here, self.words_here) for key, value in result.items()}

    @cached_property
    def _outward(self) -> tuple[_Pair, ...]:
        return _sorted(self.pairs)

    @cached_property
    def _inward(self) -> tuple[_Pair, ...]:
        return _sorted((there, here) for here, there in self.pairs)

    @cached_property
    def _spoken(self) -> re.Pattern[str] | None:
        """A path of one of the folders there, as it stands in a sentence or in quotes."""
        named = [pair for pair in self._inward if pair.start]  # of ``/`` itself nothing can be told in words
        if not named:
            return None
        starts = (re.escape(pair.start) if not pair.windows else _either_slash(pair.start) for pair in named)
        return re.compile(rf"(?<![\w/\\.-])(?:{'|'.join(starts)})(?:[\\/][^\s\"'`:,;()<>]*)?(?![\w-])")


@dataclass(frozen=True)
class _Pair:
    """One direction of a mapping; no slash at either end."""

    start: str
    end: str
    windows: bool  # whether the start is a Windows path: any slash, any case
    to_windows: bool


def _sorted(pairs: Iterable[tuple[str, str]]) -> tuple[_Pair, ...]:
    made = [_Pair(_bare(one), _bare(other), is_windows(one), is_windows(other)) for one, other in pairs]
    return tuple(sorted(made, key=lambda pair: -len(pair.start)))


def _mapped(path: str, pairs: Iterable[_Pair]) -> str:
    for pair in pairs:
        rest = _rest(path, pair) if path else None
        if rest is None:
            continue
        if pair.to_windows:
            return (pair.end + rest.replace("/", "\\")) if rest else pair.end + ("\\" if pair.end.endswith(":") else "")
        return (pair.end + (rest.replace("\\", "/") if pair.windows else rest)) or "/"
    return path


def _rest(path: str, pair: _Pair) -> str | None:
    """What follows the pair's folder in the path, with its slash; None when the path is not in it."""
    start, whole = pair.start, path
    if pair.windows:
        start, whole = start.replace("/", "\\").lower(), path.replace("/", "\\").lower()
    if not whole.startswith(start):
        return None
    rest = path[len(start) :]
    return rest if not rest or rest[0] == "/" or (pair.windows and rest[0] == "\\") else None


def _walk(key: str, value: Any, path: Any, words: Any) -> Any:
    if isinstance(value, str):
        return path(value) if key in _PATHS else words(value) if words is not None else value
    if isinstance(value, list):
        if key in _LISTS:
            return [path(item) if isinstance(item, str) else item for item in value]
        return [_walk("", item, path, words) for item in value]
    if isinstance(value, dict):
        if key in _BY_PATH:  # texts are the program's: nothing in them is changed
            return {path(name): inner for name, inner in value.items()}
        return {name: _walk(name, inner, path, words) for name, inner in value.items()}
    return value


def is_windows(path: str) -> bool:
    """Whether a path is written as Windows writes absolute ones: ``C:\\x`` or ``\\\\server\\share``."""
    return bool(_DRIVE.match(path)) or path.startswith("\\\\")


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or is_windows(path)


def _bare(path: str) -> str:
    return path.rstrip("/\\") if is_windows(path) else path.rstrip("/")


def _either_slash(path: str) -> str:
    return "(?i:" + r"[\\/]".join(re.escape(part) for part in re.split(r"[\\/]", path)) + ")"
