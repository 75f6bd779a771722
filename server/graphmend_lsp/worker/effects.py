"""What a call does besides computing: text on stdout and stderr, log records and warnings, in their order.

Text is caught at the Python level and at the file descriptors: C code and streams taken at import are heard too.
Replaces process-wide hooks; for children that run user code and die, never for the process that judges.
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TextIO

import torch

from .snapshot import normalise

Kind = Literal["stdout", "stderr", "log", "warning"]
MAX_CHARACTERS = 1 << 20
_ADVICE = (
    # torch says so of a program whose inputs are asked for gradients, as they are here; a mend rightly takes it away
    "Converting a tensor with requires_grad=True to a scalar",
    # the traceback, with its line numbers, of an error that is raised as well and compared as such
    "Error detected in ",
)
_COMPILER = re.compile(
    r"[\\/]torch[\\/](_dynamo|_functorch|_inductor|_higher_order_ops|_logging|fx|_ops|_guards|utils)\b"
)

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?")
_RECORD = re.compile(
    r"(<time> \| [A-Z]+ +\| [\w.<>]+:[\w<>]+:)\d+"
)  # as loguru writes a record: its line moves with every edit
_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.*)_at_\d+$")  # what Dynamo calls the rest of a function


@dataclass(frozen=True)
class Effect:
    """One thing the world could notice. `about` names the logger and level, or the warning's category.

    `record` is what else a log record has: the function that logged, and the template that the text was made of.
    """

    kind: Kind
    text: str
    about: str = ""
    record: str = ""


class Listener:
    """Hears effects from `install` on; `take` gives those since the last time."""

    def __init__(self) -> None:
        self._heard: list[Effect] = []
        self._size = 0
        self._deaf = 0
        self._files: dict[Kind, Any] = {}
        self._old: dict[Kind, TextIO] = {}
        self._streams: dict[Kind, _Stream] = {}

    def install(self) -> None:
        """Put this listener in place of the process's streams and hooks."""
        self._streams = {"stdout": _Stream(self, "stdout", 1), "stderr": _Stream(self, "stderr", 2)}
        self._take_streams()
        warnings.showwarning = self._warned
        handle = logging.Logger.handle

        @torch.compiler.disable
        def heard(logger: logging.Logger, record: logging.LogRecord) -> None:
            with self.unheard():  # what handlers write is the record once more, with the time of day
                handle(logger, record)
            self._logged(record)

        logging.Logger.handle = heard  # type: ignore[method-assign]

    def resume(self) -> None:
        """In a fork of the process that it was installed in, whose streams are others: hear them, and nothing of before."""
        self._take_streams()
        self._heard, self._size = [], 0

    def is_in_place(self) -> bool:
        """Whether the process still writes to it."""
        return all(getattr(sys, kind) is stream for kind, stream in self._streams.items())

    def _take_streams(self) -> None:
        for kind, stream in self._streams.items():
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as the process
            self._old[kind] = getattr(sys, kind)
            os.dup2(file.fileno(), stream.fileno())
            self._files[kind] = file
            setattr(sys, kind, stream)

    def take(self) -> tuple[Effect, ...]:
        """The effects since the last `take`; neighbouring text of one stream is one effect."""
        self.drain()
        joined: list[Effect] = []
        for effect in self._heard:
            if joined and effect.kind == joined[-1].kind and effect.kind in ("stdout", "stderr"):
                joined[-1] = Effect(effect.kind, joined[-1].text + effect.text)
            else:
                joined.append(effect)
        self._heard = []
        self._size = 0
        return tuple(Effect(one.kind, normalise(_undated(one)), one.about, one.record) for one in joined)

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Whatever is written meanwhile is not recorded."""
        self.drain()
        self._deaf += 1
        try:
            yield
        finally:
            self.drain()
            self._deaf -= 1

    def drain(self) -> None:
        """Record what reached the file descriptors since the last time."""
        for old in self._old.values():
            try:
                old.flush()
            except (ValueError, OSError, AttributeError):
                continue
        for kind, file in self._files.items():
            end = os.lseek(file.fileno(), 0, os.SEEK_CUR)
            if not end:
                continue
            raw = os.pread(file.fileno(), min(end, MAX_CHARACTERS), 0)
            os.ftruncate(file.fileno(), 0)
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            self.hear(Effect(kind, raw.decode("utf-8", "replace")))

    def hear(self, effect: Effect) -> None:
        """Record one effect, unless deaf or already full."""
        if not self._deaf and effect.text and self._size < MAX_CHARACTERS:
            self._heard.append(effect)
            self._size += len(effect.text)

    def _logged(self, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] == "torch":
            return
        try:
            message = record.getMessage()
        except Exception as error:  # a bad format string; logging itself would only print about it
            message = f"{record.msg!r} ({type(error).__name__})"
        function = _RESUMED.sub(r"\1", record.funcName or "")
        told = f"{record.msg!r} by {function}"
        self.hear(Effect("log", message, f"{record.name} {record.levelname}", normalise(told)))

    @torch.compiler.disable
    def _warned(self, message: Any, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if not _COMPILER.search(filename) and not str(message).startswith(_ADVICE):
            self.drain()
            self.hear(Effect("warning", str(message), category.__name__))


def _undated(effect: Effect) -> str:
    """A text without the moments that it was written at, and without the lines of records that a stream shows."""
    if effect.kind not in ("stdout", "stderr"):
        return effect.text
    return _RECORD.sub(r"\1…", _MOMENT.sub("<time>", effect.text))


class _Stream(io.TextIOBase):
    """Stands for `sys.stdout` or `sys.stderr`."""

    def __init__(self, listener: Listener, kind: Kind, descriptor: int) -> None:
        self._listener = listener
        self._kind = kind
        self._descriptor = descriptor
        self.buffer = _Bytes(self)

    encoding = "utf-8"
    errors = "replace"

    @torch.compiler.disable  # Dynamo would compile what runs between two graphs, and count its breaks
    def write(self, text: str, /) -> int:
        self._listener.drain()
        self._listener.hear(Effect(self._kind, str(text)))
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """A program that closes its stdout loses nothing here."""


class _Bytes(io.RawIOBase):
    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    @torch.compiler.disable
    def write(self, data: Any, /) -> int:
        raw = bytes(data)
        self._stream.write(raw.decode("utf-8", "replace"))
        return len(raw)

    def writable(self) -> bool:
        return True
