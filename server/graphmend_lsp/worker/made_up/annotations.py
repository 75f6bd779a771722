"""Shapes that annotations tell: ``Float[Tensor, "batch channels 32 32"]`` and its like, as objects or as written. Pure.

Named sizes that are the same in several arguments are the same in what is made up.
"""

from __future__ import annotations

import re
from typing import Any

from .names import number
from .values import Drawn

_WRITTEN = re.compile(r"""\b(\w+)\[\s*[\w.]*(?:Tensor|Array)\w*\s*,\s*["']([^"']*)["']\s*\]""")
_SMALL = {
    "b": 2,
    "batch": 2,
    "n": 8,
    "t": 16,
    "s": 16,
    "l": 16,
    "seq": 16,
    "time": 16,
    "h": 16,
    "w": 16,
    "height": 16,
    "width": 16,
    "c": 4,
}


class Shapes:
    """The named sizes of one program: `known` are told (a layer's features); others are made up when first met."""

    def __init__(self, known: dict[str, int] | None = None) -> None:
        self.known = dict(known or {})

    def drawn(self, annotation: Any) -> Drawn | None:
        """The tensor that an annotation with a shape in it describes, None for an annotation without."""
        found = _parts(annotation)
        if found is None:
            return None
        kind, dims = found
        shape = tuple(size for word in dims.split() if (size := self._size(word)) is not None)
        lowered = kind.lower()
        if "bool" in lowered:
            return Drawn("mask", shape)
        if "int" in lowered:
            return Drawn("ids", shape, 2)
        return Drawn("normal", shape)

    def _size(self, word: str) -> int | None:
        word = word.lstrip("#*?").split("=")[-1]
        if not word or word in ("...", "_"):
            return None if word != "_" else 4
        if word.isdigit():
            return int(word)
        name = re.match(r"[A-Za-z_]\w*", word)
        if name is None or name[0] != word:
            return self._sum(word)
        if word not in self.known:
            self.known[word] = _SMALL.get(word.lower()) or _whole(number(word)) or 8
        return self.known[word]

    def _sum(self, word: str) -> int:
        """``2*d``, ``seq+1``, ``d//2``: one operation between a name and a number."""
        match = re.fullmatch(r"\(?(\w+)(\*|\+|-|//|/)(\w+)\)?", word)
        if match is None:
            return 8
        one, other = (int(part) if part.isdigit() else self._size(part) or 8 for part in (match[1], match[3]))
        results = {
            "*": one * other,
            "+": one + other,
            "-": one - other,
            "//": one // max(other, 1),
            "/": one // max(other, 1),
        }
        return max(results[match[2]], 1)


def _parts(annotation: Any) -> tuple[str, str] | None:
    """Kind and dimensions, from an object of jaxtyping's or from the text of an annotation."""
    dims = getattr(annotation, "dim_str", None)
    if isinstance(dims, str):
        return getattr(annotation, "__name__", "Float"), dims
    if isinstance(annotation, str) and (found := _WRITTEN.search(annotation)) is not None:
        return found[1], found[2]
    return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
