"""Results of the worker, kept from one session to the next; one is given only where it is what a run would show.

A folder of files of compressed JSON, each written at once, so that any number of processes may share it; what cannot be read is
removed. Nothing is ever unpickled, nothing is written elsewhere. Blocking: the caller runs this on a thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from graphmend_lsp.engine.cached_needs import Hashes, Stamp, holds, stamp_of, stamp_of_standing
from graphmend_lsp.engine.cached_question import Question
from graphmend_lsp.worker.wire import Hello, Needs, Standing

MOST_BYTES = 256 * 1024 * 1024
OLDEST = 30 * 24 * 3600.0  # seconds without use
STATES = 4  # how many states of the program's files a question's answers are kept for
_SWEEP_EVERY = 64  # writes
_SUFFIX = ".json.z"


@dataclass(frozen=True, slots=True)
class Found:
    """A kept result, and the worker that made it."""

    result: dict[str, Any]
    hello: Hello


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Where results are kept: ``GRAPHMEND_CACHE_DIR`` (empty: nowhere), else the user's cache folder of this system."""
    told = environ.get("GRAPHMEND_CACHE_DIR")
    if told is not None:
        return Path(told).expanduser() if told else None
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("graphmend", appauthor=False))
    return folder if folder.is_absolute() else None  # a relative XDG_CACHE_HOME would be another in every folder


def cache_of(environ: Mapping[str, str]) -> Cache | None:
    """The cache of this environment; None where nothing is to be kept."""
    folder = cache_folder(environ)
    return None if folder is None else Cache(folder)


class Cache:
    """The results kept in a folder. Safe to use from several threads; never raises for what is in the folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES, oldest: float = OLDEST) -> None:
        self._folder, self._most_bytes, self._oldest = folder, most_bytes, oldest
        self._hashes = Hashes()
        self._standing: tuple[Hello, str | None] | None = None
        self._writes = 0
        self._lock = Lock()

    def find(self, question: Question) -> Found | None:
        """The result that a run would give now, if it is kept."""
        with self._lock:
            environments: dict[str, bool] = {}
            for path in self._states(question):
                record = self._read(path)
                if record is None:
                    continue
                try:
                    name = str(record["environment"])
                    if not holds(Stamp.of(record["needs"]), question.texts, self._hashes):
                        continue
                    if name not in environments:
                        environments[name] = self._stands(name)
                    if environments[name]:
                        result: dict[str, Any] = record["result"]
                        hello: Hello = record["hello"]
                        found = Found({**result}, hello)
                        self._used(path, self._path(name))
                        return found
                except (KeyError, TypeError, ValueError):
                    _remove(path)
            return None

    @property
    def words(self) -> str:
        """Where it is and what it holds, for people."""
        sizes = []
        with contextlib.suppress(OSError):
            sizes = [item.stat().st_size for item in os.scandir(self._folder) if item.name.endswith(_SUFFIX)]
        return f"{self._folder} ({len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB)"

    def knows(self, hello: Hello) -> bool:
        """Whether it is known what this worker process stands on."""
        return self._standing is not None and self._standing[0] is hello

    def keep(self, question: Question, result: Mapping[str, Any], hello: Hello) -> bool:
        """Keep the result, unless it is not sure that a run would give it again. Whether it was kept."""
        needs: Needs | None = result.get("needs")
        if needs is None or not is_complete(result):
            return False
        with self._lock:
            if needs["standing"] is not None:
                self._standing = hello, self._keep_standing(needs["standing"])
            if self._standing is None or self._standing[0] is not hello:
                return False
            environment = self._standing[1]
            if environment is None:
                return False
            if not self._stands(environment):
                self._standing = None  # something was installed; the next run tells what the worker stands on now
                return False
            stamp = stamp_of(needs, question.texts, self._hashes)
            if stamp is None:
                return False
            said = {name: value for name, value in result.items() if name != "needs"}
            record = {"environment": environment, "needs": stamp.data(), "hello": hello, "result": said}
            state = hashlib.sha256(json.dumps(_without_signatures(stamp)).encode()).hexdigest()[:16]
            written = self._write(self._path(f"{question.key}-{state}"), record)
            for path in self._states(question)[STATES:]:
                _remove(path)
            return written

    def sweep(self) -> None:
        """Remove what was not used for long, and the longest unused of what is too much."""
        files = []
        with contextlib.suppress(OSError):
            for item in os.scandir(self._folder):
                with contextlib.suppress(OSError):
                    if item.name.endswith((_SUFFIX, ".tmp")):
                        found = item.stat()
                        files.append((found.st_mtime, found.st_size, Path(item.path)))
        total = 0
        for used, size, path in sorted(files, reverse=True):
            total += size
            age = time.time() - used
            if total > self._most_bytes or age > self._oldest or (path.suffix == ".tmp" and age > 3600):
                _remove(path)

    def _keep_standing(self, standing: Standing) -> str | None:
        stamp = stamp_of_standing(standing, self._hashes)
        if stamp is None:
            return None
        name = "environment-" + hashlib.sha256(json.dumps(_without_signatures(stamp)).encode()).hexdigest()[:40]
        return name if self._write(self._path(name), {"needs": stamp.data()}) else None

    def _stands(self, environment: str) -> bool:
        record = self._read(self._path(environment))
        try:
            return record is not None and holds(Stamp.of(record["needs"]), {}, self._hashes)
        except (KeyError, TypeError, ValueError):
            _remove(self._path(environment))
            return False

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"

    def _states(self, question: Question) -> list[Path]:
        """The kept answers to a question, the last used first."""
        found = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"{question.key}-*{_SUFFIX}"):
                with contextlib.suppress(OSError):
                    found.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(found, reverse=True)]

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            record = json.loads(zlib.decompress(data))
            if isinstance(record, dict):
                return record
        except (zlib.error, ValueError, RecursionError):
            pass
        _remove(path)
        return None

    def _write(self, path: Path, record: Mapping[str, Any]) -> bool:
        temporary = None
        try:
            data = zlib.compress(json.dumps(record, separators=(",", ":")).encode(), 3)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except (OSError, TypeError, ValueError, RecursionError):  # a full disk, a folder that cannot be written to
            if temporary is not None:
                _remove(Path(temporary))
            return False
        if self._writes % _SWEEP_EVERY == 0:
            self.sweep()
        self._writes += 1
        return True

    def _used(self, *paths: Path) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                os.utime(path)


def is_complete(result: Mapping[str, Any]) -> bool:
    """Whether a result came to its end. What failed is always run again: why it failed may lie outside of any file."""
    tensors, free = result.get("tensor_bytes"), result.get("available_bytes")
    if tensors is not None and free is not None and 2 * tensors > free:
        return False  # how much memory is free decides what is made of it
    return result.get("failure") is None and all(one.get("failure") is None for one in result.get("candidates", ()))


def _without_signatures(stamp: Stamp) -> list[Any]:
    return [[file[:3] for file in stamp.files], stamp.names, stamp.listed]


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
