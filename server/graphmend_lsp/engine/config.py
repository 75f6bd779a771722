"""What a check is asked with: how the worker is started, what is run, and how the worker's state is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.engine.shard import Shard
from graphmend_lsp.model import Entry, Finding, Mode, Progress

Analysis = Literal["real", "fake", "both"]
Device = Literal["auto", "cpu", "cuda"]
Inductor = Literal["programs", "never", "whole"]
OnProgress = Callable[[Progress], None]
OnFinding = Callable[[Finding], None]


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How the worker is started. `command` replaces ``python`` and starts it by any means that pass its pipes on.

    `seconds` and `memory_mb` limit one analysis; None memory means no limit. `path_map` are pairs (folder here, folder
    there) for a worker that sees the files elsewhere.
    """

    python: str | None = None
    command: tuple[str, ...] = ()
    seconds: float = 120.0
    memory_mb: int | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    path_map: tuple[tuple[str, str], ...] = ()
    jobs: int = 1  # worker processes
    yields: bool = False  # what the user works in goes first: runs take what of the processor is left


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check.

    `paths` limit what is reported and what may be edited (files or folders, absolute; empty: where the entries' code is,
    installed packages left out of edits). `texts` are unsaved documents by absolute path. `entries` were told by the user;
    the ones found in `paths` are added, with `made_up` also those whose inputs are invented. `roots` go on the program's
    sys.path. `analysis`: ``real`` runs on the entry's data; ``fake`` runs without, both sides of branches; ``both`` the real
    run, and what only a fake run meets. `assume` are the kinds of assumptions that count as safe here. `support` takes the
    place of what the projects say of where mended files get what they need besides from. Without `comments` no mend gets one.
    `inductor`: which programs are verified under inductor where one of their mends needs it: ``programs``, those of a round;
    ``never``, so that what is verified is a draft; ``whole``, what all rounds make together.
    """

    paths: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    roots: tuple[str, ...] = ()
    device: Device = "auto"
    modes: tuple[Mode, ...] = ("eval",)
    rules: tuple[str, ...] = ()
    unsafe: bool = False
    analysis: Analysis = "real"
    made_up: bool = False
    packages: bool = False  # also show and mend breaks inside installed packages, where they are
    within: str | None = None  # mend only what is in this file or folder
    shown: tuple[str, ...] | None = None  # files and folders whose breaks are shown where they are; None: `paths`
    shard: Shard | None = None  # run this part of the entries only
    searched: tuple[str, ...] | None = None  # files whose source is searched for breaks; None: all of `paths`
    assume: tuple[str, ...] = ()
    support: Literal["file", "package", "inline"] | None = None
    comments: bool = True
    timed: bool = False  # also what share of the time each graph takes, for which the calls are made again
    inductor: Inductor = "programs"


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """What is known of the worker, for a status line."""

    state: Literal["stopped", "starting", "ready", "busy", "failed"]
    torch: str | None = None
    python: str | None = None
    device: str | None = None
    message: str = ""
