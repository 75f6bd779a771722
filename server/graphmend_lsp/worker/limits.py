"""How much time and memory a child may use, and what it says of itself when it dies. Linux tells most.

Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator

from .places import kind_of

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_DUMPED = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ?', re.MULTILINE)
_UNITS = 1024


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that made it ends (Linux; elsewhere the pipes' ends tell)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans(wanted: bool = True) -> bool:
    """Have processes that descend from this one, and whose parent ended, become its children, or not (Linux).

    Whether that was taken note of.
    """
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """While it lasts, lists of processes show this process under the name, of at most 15 letters (Linux)."""
    before = b""
    with contextlib.suppress(OSError), open("/proc/self/comm", "rb") as file:
        before = file.read().strip()
    _call_it(name.encode())
    try:
        yield
    finally:
        _call_it(before)


def _call_it(name: bytes) -> None:
    if name:
        with contextlib.suppress(OSError), open("/proc/self/comm", "wb") as file:
            file.write(name)


def restrain(memory_mb: int | None) -> None:
    """No core files; first in line when the machine runs out of memory; one allocation far over the limit fails.

    The limit itself is kept by whoever watches `resident_mb`; this one turns a huge single request into a MemoryError,
    which has a line number.
    """
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb is not None and sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError):
            data_kb = _status(os.getpid(), ("VmData",))
            limit = (data_kb + (2 * memory_mb + 1024) * _UNITS) * 1024
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def resident_mb(pids: Iterable[int]) -> float:
    """What these processes keep in memory that is no file's content, in MiB; pages shared by a fork count once each."""
    return sum(_status(pid, ("RssAnon", "RssShmem")) for pid in pids) / _UNITS


def family(pid: int) -> list[int]:
    """The process and all its descendants that are still its descendants."""
    found, queue = [], [pid]
    while queue:
        one = queue.pop()
        found.append(one)
        queue += children_of(one)
    return found


def children_of(pid: int) -> list[int]:
    """The process's children."""
    children: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += [int(child) for child in file.read().split()]
    return children


def free_mb() -> float | None:
    """Memory that new processes may take, in MiB; None where that is not told."""
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) / _UNITS
    return None


def dumped_place(text: str) -> tuple[str | None, int | None]:
    """File and line of the innermost user frame in what `faulthandler` wrote (most recent call first)."""
    for match in _DUMPED.finditer(text):
        if kind_of(match["file"]) == "code" and not match["file"].startswith("<"):
            return match["file"], int(match["line"])
    return None, None  # while Dynamo traces, the user's frames are not on the stack


def tidy_dump(text: str) -> str:
    """What `faulthandler` wrote without the worker's own frames."""
    kept = [
        line for line in text.splitlines() if not (found := _DUMPED.match(line)) or kind_of(found["file"]) != "worker"
    ]
    return "\n".join(kept).strip()


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _status(pid: int, wanted: tuple[str, ...]) -> int:
    """The sum of these fields of ``/proc/PID/status`` in kB; 0 where there is none."""
    total = 0
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in wanted:
                total += int(rest.split()[0])
    return total
