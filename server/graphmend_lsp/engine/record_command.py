"""What the commands `record` and `check --trace` do, but for printing: run or read, keep, and report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.engine.recorded import Recording
from graphmend_lsp.engine.recorded_report import report_of
from graphmend_lsp.engine.recording import record
from graphmend_lsp.engine.recordings import LOCAL, save, store
from graphmend_lsp.engine.traces import read_trace
from graphmend_lsp.model import Report

NOT_TOLD = "Name the command to record, such as: graphmend-lsp record -- python train.py"


class NoTraceError(Exception):
    """There is no trace in the folder; the message is for the user."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recorded command: how it ended (minus a signal's number), the report, and what to say besides."""

    status: int
    report: Report
    notes: tuple[str, ...]


def command_of(words: Sequence[str]) -> tuple[str, ...]:
    """The command behind ``--``; empty when there is none."""
    return tuple(words[1:] if words[:1] == ["--"] else words)


def run_recorded(command: Sequence[str], *, here: bool) -> RecordedRun:
    """Run the command and keep its recording for the editor: in the user's own folder, or in the working folder (`here`).

    Raises:
        NotStartedError: the command cannot be started.
    """
    folder = Path(os.getcwd(), LOCAL) if here else store()
    recorded = record(command)
    if here and recorded.recording.processes:
        _keep_out_of_version_control(folder.parent)
    return RecordedRun(
        recorded.status, report_of(recorded.recording), (*recorded.recording.notes, *_kept(recorded.recording, folder))
    )


def report_trace(
    folder: str, pairs: tuple[tuple[str, str], ...], paths: tuple[str, ...]
) -> tuple[Report, tuple[str, ...]]:
    """What a ``TORCH_TRACE`` folder (or file) says, of `paths` where there are some, and what to say besides.

    `pairs` are folders (here, there) of a trace that was made on another machine.

    Raises:
        NoTraceError: there is none.
    """
    read = read_trace(Path(folder), PathMap(pairs))
    if read.recording is None:
        raise NoTraceError(" ".join(failure.words for failure in read.failures))
    return report_of(read.recording, paths, read.failures), read.recording.notes


def _keep_out_of_version_control(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")


def _kept(recording: Recording, folder: Path) -> tuple[str, ...]:
    if not recording.processes:
        return ()
    try:
        save(recording, folder)
    except OSError as error:
        return (f"GraphMend could not keep the recording for the editor: {error}.",)
    processes = recording.processes
    ran = f"Recorded {processes} process{'es' * (processes != 1)}"
    return (f"{ran}; the editor shows these breaks until their code changes.",) if recording.sites else (f"{ran}.",)
