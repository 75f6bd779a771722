"""A child at its limits: what it says in the moment that it is given before it is killed."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HEAD = """
import signal, time
from graphmend_lsp.worker import isolate
from graphmend_lsp.worker.wire import Limits

isolate.LAST_WORDS = 30.0
kept = []


class Told(Exception):
    pass


def hear(number, frame):
    raise Told


def late():
    signal.signal(signal.SIGUSR2, hear)  # in place of the one that says where it is
    kept.append(b"x" * MEGABYTES * 2**20)
    try:
        time.sleep(100)
    except Told:
        return "complete"


outcome = isolate.call_in_child(late, Limits(seconds=SECONDS, memory_mb=MEMORY))
print(outcome.value, outcome.failure and outcome.failure["kind"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children are forks on Linux only")
@pytest.mark.parametrize(
    ("seconds", "memory", "megabytes", "told"),
    [
        (0.5, None, 0, "complete None"),  # out of time, but its value came before it was killed: that counts
        (60.0, 50, 200, "None memory"),  # over the memory limit: whatever it says
    ],
)
def test_a_value_that_comes_late(seconds: float, memory: int | None, megabytes: int, told: str) -> None:
    code = f"SECONDS, MEMORY, MEGABYTES = {seconds}, {memory}, {megabytes}\n{textwrap.dedent(HEAD)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.strip() == told, done.stderr
