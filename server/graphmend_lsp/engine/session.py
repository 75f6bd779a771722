"""The engine's face to the editor and the command line: check, prove, mend all. (Filled in by the engine.)"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.model import Entry, Finding, Mode, Plan, Progress, Report

OnProgress = Callable[[Progress], None]
OnFinding = Callable[[Finding], None]


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How the worker is started. `command` replaces ``python`` and starts it by any means that pass its pipes on.

    `seconds` and `memory_mb` limit one analysis; None memory means no limit.
    """

    python: str | None = None
    command: tuple[str, ...] = ()
    seconds: float = 120.0
    memory_mb: int | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check.

    `paths` limit what is reported and what may be edited (files or folders, absolute; empty: where the entries' code is,
    installed packages left out of edits). `texts` are unsaved documents by absolute path. `entries` were told by the user;
    the ones found in `paths` are added. `roots` go on the program's sys.path.
    """

    paths: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    roots: tuple[str, ...] = ()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    modes: tuple[Mode, ...] = ("eval",)
    rules: tuple[str, ...] = ()
    unsafe: bool = False


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """What is known of the worker, for a status line."""

    state: Literal["stopped", "starting", "ready", "busy", "failed"]
    torch: str | None = None
    python: str | None = None
    device: str | None = None
    message: str = ""


class Session:
    """One worker process and what it has found. All methods are cancellable by cancelling their task.

    A cancelled or failed run never leaves a process behind and never raises for what the user's program does: that is a
    `Failure` in the report.
    """

    def __init__(self, config: WorkerConfig, on_status: Callable[[WorkerStatus], None] | None = None) -> None: ...

    async def check(self, request: CheckRequest, on_progress: OnProgress | None = None) -> Report:
        """Static and real breaks of the request's entries, with unverified candidates and declines."""
        raise NotImplementedError

    async def prove(
        self,
        request: CheckRequest,
        report: Report,
        on_finding: OnFinding | None = None,
        on_progress: OnProgress | None = None,
    ) -> Report:
        """The report with a verdict for every candidate; `on_finding` is told each finding as it is settled."""
        raise NotImplementedError

    async def mend(
        self, request: CheckRequest, on_progress: OnProgress | None = None, report: Report | None = None
    ) -> Plan:
        """Mend everything that can be mended (safely, or also unsafely when asked), to the fixpoint."""
        raise NotImplementedError

    async def restart(self) -> None:
        """Kill the worker; the next request starts a new one."""
        raise NotImplementedError

    async def close(self) -> None:
        """Kill the worker and wait until no process of it is left."""
        raise NotImplementedError


_ = (asyncio, Awaitable, Sequence)
