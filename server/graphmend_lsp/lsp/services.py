"""What the language server needs of the rest of the house, and how it gets it: late, so that starting stays quick."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from graphmend_lsp.model import (
    Break,
    Declined,
    Entry,
    EntryResult,
    Finding,
    Measurement,
    Mend,
    Mode,
    Plan,
    Progress,
    Report,
    TextEdit,
)

if TYPE_CHECKING:
    from graphmend_lsp.engine.mender import Mender, Proposed
    from graphmend_lsp.engine.session import CheckRequest, WorkerConfig, WorkerStatus


class SessionLike(Protocol):
    """`graphmend_lsp.engine.session.Session`, as far as it is used here."""

    async def check(
        self,
        request: CheckRequest,
        on_progress: Callable[[Progress], None] | None = None,
        on_real: Callable[[Report, bool], Awaitable[None]] | None = None,
    ) -> Report:
        """Breaks, with candidates that are not verified; `on_real` may be told those of real runs before, and whether
        these have ended."""
        ...

    async def prove(
        self,
        request: CheckRequest,
        report: Report,
        on_finding: Callable[[Finding], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        """The report with verdicts."""
        ...

    async def start(self) -> None:
        """Have the worker ready for what will be asked; runs nothing of the user's."""
        ...

    async def recall(self, request: CheckRequest) -> Report | None:
        """Check and proofs as far as they are kept; None when they are not. Runs nothing."""
        ...

    async def mend(
        self,
        request: CheckRequest,
        on_progress: Callable[[Progress], None] | None = None,
        report: Report | None = None,
    ) -> Plan:
        """Mend all, to the fixpoint."""
        ...

    async def measure(
        self,
        request: CheckRequest,
        texts: Mapping[str, str],
        keys: Iterable[tuple[Entry, Mode]],
        backend: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> tuple[Measurement, ...]:
        """How fast the entries are with these texts, beside the request's."""
        ...

    async def timed(self, request: CheckRequest, keys: Iterable[tuple[Entry, Mode]]) -> tuple[EntryResult, ...]:
        """How these entries are cut, with what share of the time each graph takes."""
        ...

    async def restart(self) -> None:
        """Kill the worker."""
        ...

    async def close(self) -> None:
        """Kill the worker, for good."""
        ...


@dataclass(frozen=True, slots=True)
class Project:
    """What the ``pyproject.toml`` of a project says, with complaints about what cannot be read. What is None it leaves open."""

    entries: tuple[Entry, ...] = ()
    complaints: tuple[str, ...] = ()
    device: str | None = None
    mode: str | None = None
    explore: bool | None = None
    guess: bool | None = None
    python: str | None = None
    timeout: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """The functions of the other rooms. All but `make_session` run on a thread; all but `read_project`, which reads
    the ``pyproject.toml`` at or above a folder (its entries, and complaints about them), and `propose`, are pure. `propose` is
    told whether mends may create a file, and whether they may write comments."""

    find_breaks: Callable[[str, str], tuple[Break, ...]]
    find_entries: Callable[[str, str], tuple[Entry, ...]]
    is_suppressed: Callable[[Break, str], bool]
    ignore_edit: Callable[[str, Break], TextEdit | None]
    propose: Callable[[Break, Mapping[str, str], bool, bool], tuple[tuple[Mend, ...], tuple[Declined, ...]]]
    explain: Callable[[str], str]
    read_project: Callable[[str], Project]
    make_session: Callable[[WorkerConfig, Callable[[WorkerStatus], None]], SessionLike]
    guess_entries: Callable[[str, str], tuple[Entry, ...]] = lambda _source, _path: ()


def real_services() -> Services:
    """The real rooms, each imported when it is first used."""
    from graphmend_lsp.engine.mender import Mender

    return Services(
        _find_breaks,
        _find_entries,
        _is_suppressed,
        _ignore_edit,
        partial(_propose, Mender()),
        explain_rule,
        read_project,
        _make_session,
        _guess_entries,
    )


def _propose(
    mender: Mender, site: Break, sources: Mapping[str, str], creates_files: bool = True, comments: bool = True
) -> Proposed:
    """The mends of a break that no run met; what they import is written, too."""
    from graphmend_lsp.engine.files import Sources
    from graphmend_lsp.engine.support import Supports

    supports = Supports(Sources(sources), None if creates_files else "inline", comments)
    mends, declined = mender.propose(site, sources, styles={path: supports.style(path) for path in sources})
    return tuple(map(supports.completed, mends)), declined


def _find_breaks(source: str, path: str) -> tuple[Break, ...]:
    from graphmend_lsp.analysis import find_breaks

    return find_breaks(source, path)


def _find_entries(source: str, path: str) -> tuple[Entry, ...]:
    from graphmend_lsp.analysis.entries import find_entries

    return find_entries(source, path)


def _guess_entries(source: str, path: str) -> tuple[Entry, ...]:
    from graphmend_lsp.analysis.entry_guesses import guess_entries

    return guess_entries(source, path)


def _is_suppressed(site: Break, source: str) -> bool:
    from graphmend_lsp.analysis.suppress import is_suppressed

    return is_suppressed(site, source)


def _ignore_edit(source: str, site: Break) -> TextEdit | None:
    from graphmend_lsp.analysis.suppress import ignore_edit

    return ignore_edit(source, site)


def explain_rule(rule: str) -> str:
    """What a mending rule does: the first paragraph of its manual; empty for a rule that there is not."""
    from graphmend_lsp.mending import rules_by_name

    found = rules_by_name().get(rule)
    return " ".join(found.doc.split("\n\n")[0].split()) if found else ""


def read_project(folder: str) -> Project:
    """What the ``pyproject.toml`` at or above a folder says."""
    from graphmend_lsp.engine.entries import BadEntryError, parse_entry, read_config
    from graphmend_lsp.engine.support import foreign_support

    entries: list[Entry] = []
    complaints: list[str] = []
    try:
        config = read_config(folder)
    except BadEntryError as error:
        return Project(complaints=(str(error),))
    complaints += config.complaints
    if (foreign := foreign_support(folder)) is not None:
        complaints.append(foreign)
    for written in config.entries:
        try:
            entries.append(parse_entry(written, config.folder))
        except BadEntryError as error:  # noqa: PERF203
            complaints.append(f"[tool.graphmend] entries: {error}")
    return Project(
        tuple(entries), tuple(complaints), config.device, config.mode, config.explore, config.guess, config.python,
        config.timeout, config.memory,
    )  # fmt: skip


def _make_session(config: WorkerConfig, on_status: Callable[[WorkerStatus], None]) -> SessionLike:
    from graphmend_lsp.engine.cache import cache_of
    from graphmend_lsp.engine.session import Session

    return Session(config, on_status, cache_of(os.environ))
