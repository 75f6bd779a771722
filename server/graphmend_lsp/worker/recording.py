"""Runs inside the processes of a recorded program: what the recorder sees goes to a file of this process, line by line.

The program is not ours: nothing here may raise, print, change what it computes, or keep what it has written. Started by
``record_site/sitecustomize.py`` after the import of torch._dynamo. Standard library, torch and the recorder only.

Every line is one JSON object, written with one call, so that a death of the process loses nothing before it:
``process`` (see `Process`), ``file`` with its ``sha256``, ``event``, ``graph``, ``skip`` (as on the wire), and ``again``
with the number of an event (0-based, in this file) that came once more. A forked child begins a file of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from types import CodeType, FrameType
from typing import Any, TypedDict

from .places import kind_of
from .recorder import Recorder, missing_hooks
from .wire import BreakData, FrameData

_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
_MOST_FRAMES = 40
_DYNAMO = os.path.join("torch", "_dynamo")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Process(TypedDict):
    """Who writes. `rank` is None outside of a distributed run; `missing` are hooks that this torch lacks."""

    pid: int
    parent: int
    forked: bool
    command: list[str]
    main: str | None
    folder: str
    python: str
    torch: str
    rank: int | None
    began: float
    missing: list[str]


def begin(folder: str, started: int) -> None:
    """Record from now on, into files in `folder`; only say so when this torch lacks what is needed for that.

    `started` is when this process began, in nanoseconds since the epoch.
    """
    missing = missing_hooks()
    stream = Stream(folder, started, missing)
    stream.open()
    if missing:
        return
    from torch._dynamo import guards

    probe = getattr(guards, "profile_guard_manager", None)
    stream.recorder.install()
    if probe is not None:
        guards.profile_guard_manager = probe  # the worker leaves it out to be quick; here the program's own run counts


class _Quiet(Recorder):
    """A recorder whose own defects stay its own."""

    def _record(self, error: Any, outcome: Any, code: CodeType, outer: list[FrameData]) -> None:
        try:
            super()._record(error, outcome, code, outer[outside() :])
        except Exception:
            return


class Stream:
    """The file of this process."""

    def __init__(self, folder: str, started: int, missing: list[str]) -> None:
        self.recorder = _Quiet(self.tell)
        self._folder = folder
        self._missing = missing
        self._started = started
        self._pid = os.getpid()
        self._first = self._pid
        self._handle: int | None = None
        self._known: dict[str, int] = {}
        self._files: set[str] = set()

    def open(self) -> None:
        """Begin the file with who writes it."""
        self._pid = os.getpid()
        self._known, self._files = {}, set()
        path = os.path.join(self._folder, f"{self._pid}-{time.time_ns()}.jsonl")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._handle = os.open(path, flags, 0o600)
        self._write({"process": self._process()})

    def tell(self, kind: str, data: Any) -> None:
        """One record; never raises."""
        recorder = self.recorder
        recorder.events.clear()
        recorder.graphs.clear()
        recorder.skipped.clear()
        try:
            if os.getpid() != self._pid:
                self.open()  # a forked child; the parent's file stays the parent's
            if kind == "event":
                self._event(data)
            else:
                self._write({kind: data})
        except Exception:  # a full disk, a folder that is gone
            return

    def _event(self, data: BreakData) -> None:
        event: BreakData = {**data, "frames": trimmed(data["frames"])}
        text = json.dumps(event, separators=(",", ":"))
        number = self._known.get(text)
        if number is not None:
            self._write({"again": number})
            return
        self._known[text] = len(self._known)
        for frame in event["frames"]:
            if frame["kind"] == "code" and frame["file"] not in self._files:
                self._files.add(frame["file"])
                self._write({"file": frame["file"], "sha256": self._hash(frame["file"])})
        self._write({"event": event})

    def _hash(self, path: str) -> str | None:
        """The file's SHA-256 if it surely is what this process runs: unchanged since before it began."""
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            if os.fstat(file.fileno()).st_mtime_ns > self._started:
                return None
            return hashlib.sha256(file.read()).hexdigest()

    def _process(self) -> Process:
        import torch

        ranks = [os.environ[name] for name in _RANKS if os.environ.get(name, "").isdigit()]
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        return Process(
            pid=self._pid,
            parent=os.getppid(),
            forked=self._pid != self._first,
            command=list(sys.orig_argv),
            main=os.path.abspath(main) if isinstance(main, str) else None,
            folder=os.getcwd(),
            python=platform.python_version(),
            torch=str(torch.__version__),
            rank=int(ranks[0]) if ranks else None,
            began=time.time(),
            missing=self._missing,
        )

    def _write(self, record: Any) -> None:
        if self._handle is not None:
            line = json.dumps(record, separators=(",", ":"), default=str)
            os.write(self._handle, line.encode("utf-8", "backslashreplace") + b"\n")


def outside() -> int:
    """How many frames of this thread, Dynamo's own not counted, called the outermost compiled function.

    A chain begins at that function, as it does in a run of an entry: what is outside of it is not compiled.
    """
    frame: FrameType | None = sys._getframe(1)
    found = count = 0
    while frame is not None:
        folder, name = os.path.split(frame.f_code.co_filename)
        if not folder.endswith(_DYNAMO):
            count += 1
        elif name == "eval_frame.py":
            found, count = 1, 0
        frame = frame.f_back
    return count if found else 0


def trimmed(frames: list[FrameData]) -> list[FrameData]:
    """A chain without what led to the user's code (a test runner), files as absolute paths, and not endless."""
    first = next((at for at, frame in enumerate(frames) if _is_users(frame)), 0)
    return [
        {**frame, "file": frame["file"] if frame["file"].startswith("<") else os.path.abspath(frame["file"])}
        for frame in frames[first:][-_MOST_FRAMES:]
    ]


def _is_users(frame: FrameData) -> bool:
    file = frame["file"]
    return frame["kind"] == "code" and not any(part in file for part in _INSTALLED) and kind_of(file) == "code"
