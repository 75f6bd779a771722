"""Tensor contents by digest, in a file of the request's folder where there is one: trials go from process to process.

A trial of a model of some million parameters holds hundreds of MiB of gradients, of which what is compared later reads
next to none.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

HELD = 8 << 20  # bytes that wait to be written


class Blobs(Mapping[str, bytes]):
    """Bytes by digest. Pickled it is the name of its file and what lies where; the file must be there when it is read.

    The file is open only while it is written to or read: between its calls a program may close what it did not open.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._held: dict[str, bytes] = {}  # what is not written yet; all, without a folder or when the disk is full
        self._size = 0  # of what waits
        self._places: dict[str, tuple[int, int]] = {}  # offset and size in the file
        self._path = ""
        self._end = 0

    def keep(self, digest: str, raw: bytes) -> None:
        """Keep bytes, unless those of that digest are kept already."""
        if digest in self:
            return
        self._held[digest] = raw
        self._size += len(raw)
        if self._size > HELD:
            self._write()

    def __getitem__(self, digest: str) -> bytes:
        if digest in self._held:
            return self._held[digest]
        offset, size = self._places[digest]
        with open(self._path, "rb") as file:
            file.seek(offset)
            found = file.read(size)
        if len(found) != size:
            raise KeyError(digest)
        return found

    def __contains__(self, digest: object) -> bool:
        return digest in self._held or digest in self._places

    def __iter__(self) -> Iterator[str]:
        return iter((*self._held, *self._places))

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def __getstate__(self) -> dict[str, Any]:
        self._write()
        return {**vars(self), "_folder": None}

    def _write(self) -> None:
        """Write what waits into the file; where that fails it stays in memory, and the rest with it."""
        if self._folder is None:
            return
        places: dict[str, tuple[int, int]] = {}
        end = self._end
        try:
            if not self._path:
                descriptor, self._path = tempfile.mkstemp(prefix="contents-", dir=self._folder)
                os.close(descriptor)
            with open(self._path, "r+b") as file:
                file.seek(end)
                for digest, raw in self._held.items():
                    file.write(raw)
                    places[digest] = (end, len(raw))
                    end += len(raw)
        except OSError:
            self._folder = None
            return
        self._places |= places
        self._held, self._size, self._end = {}, 0, end
