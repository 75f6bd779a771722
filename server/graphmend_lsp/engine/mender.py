"""Proposes mends in a process of its own: to parse a large file for rewriting holds the interpreter for tenths of a
second, in which no keystroke would be answered.

The child runs only our own code, sees no import path but ours, and ends with its stdin. Pickles go over its pipes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from graphmend_lsp.analysis.reasons import remedy_for
from graphmend_lsp.mending.rule import Style
from graphmend_lsp.model import Break, Declined, Mend
from graphmend_lsp.text import Text
from graphmend_lsp.values import NOTHING, Facts

Proposed = tuple[tuple[Mend, ...], tuple[Declined, ...]]
_START = "import sys; sys.path[:] = sys.argv[1:]; from graphmend_lsp.engine.mender import serve; serve()"
_UNKNOWN = Declined("mending", "GraphMend failed while it looked for a mend. Its log has the error.")


class Mender:
    """The child, started when it is first needed and again when it has died. For one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._facts: Facts | None = None  # that the child was told last

    def start(self) -> None:
        """Have the child started before it is needed: it reads the rules while a worker loads torch."""
        if self._process is None:
            self._process = self._started()

    def propose(
        self,
        site: Break,
        sources: Mapping[str, str],
        rules: Sequence[str] = (),
        facts: Facts = NOTHING,
        styles: Mapping[str, Style] = MappingProxyType({}),
        wrapping: Mapping[str, str] = MappingProxyType({}),
    ) -> Proposed:
        """What mending offers for a break, and why it declines; waits without holding the interpreter."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._started()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        again = facts == self._facts  # to write thousands of them takes a tenth of a second
        self._facts = None
        try:
            _write(
                process.stdin,
                (site, dict(sources), tuple(rules), None if again else facts, dict(styles), dict(wrapping)),
            )
            self._facts = facts
            answer: Proposed = _read(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            process.kill()
            process.wait()
            self._facts = None
            return (), (_UNKNOWN,)
        return answer

    def close(self) -> None:
        """End the child; the next `propose` starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        # Not the working folder: a file there must not be imported in the place of one of ours.
        path = [part for part in sys.path if part and Path(part).absolute() != Path.cwd()]
        command = [sys.executable, "-I", "-c", _START, str(Path(__file__).absolute().parents[2]), *path]
        self._facts = None
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None)


def serve() -> None:
    """The child's life: answer until stdin ends. An interrupt of the terminal is its parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(5)
    from graphmend_lsp.mending import THIRD_CHOICE, propose, rules_by_name

    rules_by_name()  # imports them
    importlib.import_module("libcst")  # which the first mend would wait for
    facts = NOTHING
    while True:
        try:
            site, sources, rules, told, styles, wrapping = _read(source)
        except EOFError:
            return
        facts = facts if told is None else told
        proposals = propose(site, sources, rules, facts, styles, wrapping)
        declined = proposals.declined
        if not proposals.mends and all(one.rule in THIRD_CHOICE for one in declined):  # which are asked about each kind
            declined = (no_rule_for(site, sources), *declined)
        _write(sink, (proposals.mends, declined))


def no_rule_for(site: Break, sources: Mapping[str, str] | None = None) -> Declined:
    """What is said when no rule is about such a break: that, and what its author can do."""
    segment = Text((sources or {}).get(site.path, "")).slice(site.span)
    words = f"No rule mends this kind of graph break. {remedy_for(site.root_gb_id or site.gb_id, segment)}"
    return Declined("rules", words.strip())


def _write(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack(">Q", len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    header = stream.read(8)
    if len(header) < 8:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack(">Q", header)[0]))
