"""Whether what a kept result stands on is still as it was: files by content, absent names, listings of folders.

A file whose size, times and inode are those of the moment at which it was hashed has the content that was hashed: the time
of the last change (`st_ctime`) cannot be set by a program. It is trusted only where it was older than `RACY` then, so that
a later change in the same tick of the clock cannot hide; and not on Windows, where it is the time of creation. Otherwise
the content is hashed anew. Blocking; knows nothing of where results are kept.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphmend_lsp.worker.wire import Needs, Standing

RACY = 2.0  # seconds, the coarsest clock of a file system in use
SLACK = 0.02  # seconds by which the clock of files may be behind the system's
_SOURCES = (".py", ".pyw", ".pyc")
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".pth")
Signature = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What must be as it was. `files`: path, whether an unsaved text takes its place, SHA-256 (None: it was not there), and
    its signature where that can be trusted. `names`: see the wire. `listed`: folder, what counts in it, digest."""

    files: tuple[tuple[str, bool, str | None, Signature | None], ...]
    names: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    listed: tuple[tuple[str, str, str], ...] = ()

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "files": [[path, module, sha, signature] for path, module, sha, signature in self.files],
            "names": list(self.names), "suffixes": list(self.suffixes), "listed": [list(one) for one in self.listed],
        }  # fmt: skip

    @staticmethod
    def of(data: Mapping[str, Any]) -> Stamp:
        """From plain data.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        files = []
        for path, module, sha, signature in data["files"]:
            size, written, changed, node = signature if signature is not None else (0, 0, 0, 0)
            files.append((str(path), bool(module), sha, None if signature is None else (size, written, changed, node)))
        listed = tuple((str(folder), str(what), str(digest)) for folder, what, digest in data["listed"])
        return Stamp(tuple(files), tuple(map(str, data["names"])), tuple(map(str, data["suffixes"])), listed)


class Hashes:
    """The content hashes of files, each made once for each signature it has."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Signature, str]] = {}

    def get(self, path: str, signature: Signature | None) -> str | None:
        """The file's SHA-256 in hex, None when it cannot be read."""
        if signature is None:
            return None
        if (known := self._known.get(path)) is not None and known[0] == signature:
            return known[1]
        settled = is_settled(signature)  # before it is read
        try:
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            return None
        if settled:
            self._known[path] = signature, digest
        return digest


def stamp_of(needs: Needs, texts: Mapping[str, str], hashes: Hashes) -> Stamp | None:
    """What a run stood on, as it is now; None when that is not known: a doubt, or a change since the run began."""
    unsaved = _Unsaved(texts)
    stamp = Stamp((), suffixes=tuple(needs["suffixes"]))
    part: Needs | None = needs
    while part is not None:
        files = [(path, True) for path in part["modules"]] + [(path, False) for path in part["read"]]
        stamped = _files(files, part["begun"], unsaved, hashes)
        if part["doubts"] or stamped is None:
            return None
        listed = tuple((folder, "all", _listing(folder, "all")) for folder in part["listed"])
        stamp = replace(
            stamp,
            files=(*stamp.files, *stamped), names=(*stamp.names, *part["names"]), listed=(*stamp.listed, *listed),
        )  # fmt: skip
        part = part["before"]
    return None if _any_there(stamp.names, stamp.suffixes, unsaved) else stamp


def stamp_of_standing(standing: Standing, hashes: Hashes) -> Stamp | None:
    """What the worker itself stands on, as it is now; None when some of it changed since it began to load."""
    files = _files([(path, True) for path in standing["files"]], standing["begun"], _Unsaved({}), hashes)
    if files is None:
        return None
    return Stamp(files, listed=tuple((one, "installed", _listing(one, "installed")) for one in standing["folders"]))


def holds(stamp: Stamp, texts: Mapping[str, str], hashes: Hashes) -> bool:
    """Whether everything is as it was, with these unsaved texts in place of files."""
    unsaved = _Unsaved(texts)
    for path, module, sha, signature in stamp.files:
        if module and (text := unsaved.get(path)) is not None:
            if digest_of_text(text) != sha:
                return False
            continue
        now = signature_of(path)
        if (now != signature or now is None) and hashes.get(path, now) != sha:
            return False
    if _any_there(stamp.names, stamp.suffixes, unsaved):
        return False
    return all(_listing(folder, what) == digest for folder, what, digest in stamp.listed)


def digest_of_text(text: str) -> str:
    """The hash of an unsaved text: its file's own, once it is saved as UTF-8; never that of bytes read in another encoding."""
    data = text.encode("utf-8", "surrogatepass")
    if b"coding" in data[:400]:
        data = b"\0text\0" + data
    return hashlib.sha256(data).hexdigest()


def signature_of(path: str) -> Signature | None:
    """Size, times and inode of a file; None when it is not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def is_settled(signature: Signature) -> bool:
    """Whether the file is so old that a change after now cannot leave it with this signature."""
    return os.name != "nt" and max(signature[1], signature[2]) < time.time_ns() - RACY * 1e9


def _files(
    paths: Iterable[tuple[str, bool]], begun: int, unsaved: _Unsaved, hashes: Hashes
) -> tuple[tuple[str, bool, str | None, Signature | None], ...] | None:
    stamped: list[tuple[str, bool, str | None, Signature | None]] = []
    for path, module in paths:
        if module and (text := unsaved.get(path)) is not None:
            stamped.append((path, True, digest_of_text(text), None))
            continue
        signature = signature_of(path)
        if signature is None:
            if module:
                return None
            stamped.append((path, False, None, None))
            continue
        if max(signature[1], signature[2]) > begun - SLACK * 1e9 or not os.path.isfile(path):
            return None
        settled = is_settled(signature)  # before it is read
        sha = hashes.get(path, signature)
        if sha is None or signature_of(path) != signature:
            return None
        stamped.append((path, module, sha, signature if settled else None))
    return tuple(stamped)


def _any_there(names: Sequence[str], suffixes: Sequence[str], unsaved: _Unsaved) -> bool:
    """Whether there is a module of one of these names now."""
    folders: dict[str, frozenset[str]] = {}
    for stem in names:
        folder, name = os.path.split(stem)
        present = folders.get(folder)
        if present is None:
            present = folders[folder] = frozenset(_names(folder))
        mark, name = name[-1:], name.rstrip(".!")
        wanted = [suffix for suffix in suffixes if mark != "!" or suffix not in _SOURCES]
        if any(f"{name}{suffix}" in present for suffix in wanted):
            return True
        if mark == "!":
            continue
        if unsaved.get(os.path.join(folder, f"{name}.py")) is not None:
            return True
        if unsaved.get(os.path.join(folder, name, "__init__.py")) is not None:
            return True
        if mark != "." and name in present and os.path.isdir(os.path.join(folder, name)):
            return True
    return False


def _listing(folder: str, what: str) -> str:
    """The digest of a folder's names that count: ``all`` but hidden ones and bytecode, or what says what is installed."""
    names = sorted(_names(folder))
    if what == "installed":
        names = [name for name in names if name.endswith(_INSTALLED)]
    else:
        names = [name for name in names if not name.startswith(".") and name != "__pycache__"]
        names = [name for name in names if not name.endswith((".pyc", "~"))]
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


class _Unsaved:
    """Unsaved texts by path, whichever way the path is spelled."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = {os.path.realpath(path): text for path, text in texts.items()}
        self._bases = frozenset(os.path.basename(path) for path in (*texts, *self._texts))

    def get(self, path: str) -> str | None:
        if os.path.basename(path) not in self._bases:
            return None
        return self._texts.get(os.path.realpath(path))
