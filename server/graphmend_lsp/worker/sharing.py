"""What forks of a process have in common with it beside what it was: threads they lack, files and memory that all of them use.

A program that brings such a thing cannot be built once for many forks. Linux; torch is asked only when it is loaded.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .limits import children_of
from .warming import forks_can_differentiate


class UnsharedError(Exception):
    """What an entry built cannot be run in forks of the process that built it: it started a thread, say."""


@contextlib.contextmanager
def fit_for_forks() -> Iterator[None]:
    """Raise behind it when what was done meanwhile cannot go on in forks.

    Raises:
        UnsharedError: a thread or a process was started, a file or shared memory opened, CUDA or a backward pass begun.
    """
    before = _Held.now()
    with _differentiating() as differentiated:
        yield
    after = _Held.now()
    stuck = bool(differentiated) and not forks_can_differentiate()
    if stuck or torch.cuda.is_initialized() or after.threads != before.threads or after.more_than(before):
        raise UnsharedError


@dataclass(frozen=True)
class _Held:
    """Threads, and by name processes, open files and mappings of shared memory."""

    threads: int
    processes: frozenset[int]
    files: frozenset[tuple[str, str]]
    memory: frozenset[str]

    @staticmethod
    def now() -> _Held:
        return _Held(len(os.listdir("/proc/self/task")), frozenset(children_of(os.getpid())), _files(), _memory())

    def more_than(self, other: _Held) -> bool:
        return bool(self.processes - other.processes or self.files - other.files or self.memory - other.memory)


def _files() -> frozenset[tuple[str, str]]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one of the folder itself is closed by now
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return frozenset(found)


def _memory() -> frozenset[str]:
    """The mappings that forks would not have a copy of."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        return frozenset(line for line in file if line.split(" ", 2)[1].endswith("s"))


@contextlib.contextmanager
def _differentiating() -> Iterator[list[str]]:
    """While it lasts, whoever asks for a backward pass is noted: with a torch that knows a GPU no fork can make one then."""
    noted: list[str] = []
    originals = torch.autograd.backward, torch.autograd.grad

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def told(*args: Any, **options: Any) -> Any:
            noted.append(original.__name__)
            return original(*args, **options)

        return told

    torch.autograd.backward, torch.autograd.grad = map(noting, originals)
    try:
        yield noted
    finally:
        torch.autograd.backward, torch.autograd.grad = originals
