"""Hooks on every submodule, which note when they are called.

Catches a side that runs although it is not taken, with the hooks of the modules in it, and modules that are passed by.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from .base import Arguments, Probe

HOOKED = "with hooks on every submodule"


def inner(subject: Subject) -> list[tuple[str, torch.nn.Module]]:
    """The submodules, with their names."""
    return [
        (name, part)
        for root, module in subject.modules.items()
        for name, part in module.named_modules(prefix=root)
        if part is not module
    ]


@contextmanager
def _hooked(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    seen: list[str] = []

    def noting(name: str) -> Any:
        def hook(_module: torch.nn.Module, _inputs: Any, _result: Any) -> None:
            seen.append(name)

        return hook

    def called(*args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
        result = subject.function(*args, **kwargs)
        return result, list(dict.fromkeys(seen))

    handles = [part.register_forward_hook(noting(name)) for name, part in inner(subject)]
    try:
        yield replace(subject, function=called)
    finally:
        for handle in handles:
            handle.remove()


PROBES = (
    Probe(HOOKED, "inside-effects", lambda subject, _call: bool(inner(subject)),
          around=_hooked),
)  # fmt: skip
