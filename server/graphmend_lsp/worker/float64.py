"""A program and its calls in float64, and the lines that a call runs: what a difference of rounding is told from.

For children that run user code. Whether it was rounding is decided elsewhere (`rounding`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from .places import kind_of
from .recipes import Arguments
from .snapshot import tensors_of
from .variants import substitute

WIDER: Mapping[torch.dtype, torch.dtype] = {torch.float32: torch.float64, torch.complex64: torch.complex128}
"""Other dtypes stay: a program that rounds to float16 in between is another one in float64."""


def widen_modules(modules: Mapping[str, torch.nn.Module]) -> None:
    """Put parameters and buffers into float64, in place."""
    for module in modules.values():
        module._apply(_wider)


def widened(call: Arguments) -> Arguments:
    """The arguments with their tensors in float64. Containers and objects are changed in place; parameters stay.

    What has a history has one then, too.
    """
    replaced: dict[int, torch.Tensor] = {}
    for _, tensor in tensors_of(call):
        if type(tensor) is torch.Tensor and tensor.dtype in WIDER:
            wide = _wider(tensor.detach()).requires_grad_(tensor.requires_grad)
            replaced[id(tensor)] = wide if tensor.is_leaf else wide * 1
    made = substitute(call, replaced)
    return made[0], made[1]


class Path:
    """Which lines of the program and its packages ran, in order, not those of torch and of Python's own library."""

    def __init__(self) -> None:
        self._seen = hashlib.blake2b(digest_size=16)

    @property
    def digest(self) -> str:
        """The same for the same lines in the same order."""
        return self._seen.hexdigest()

    def enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        """What `sys.settrace` is told."""
        file = frame.f_code.co_filename
        if kind_of(file) != "code" or (file.startswith("<") and kind_of(_home(frame)) == "worker"):
            return None
        return self._line(frame, event, argument)

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event in ("call", "line"):
            self._seen.update(f"{frame.f_code.co_filename}:{frame.f_lineno}\n".encode())
        return self._line


def _home(frame: FrameType) -> str:
    """The file of the module that code without a file was made for: a dataclass of ours, say, whose methods Python writes."""
    return str(frame.f_globals.get("__file__") or "<unknown>")


@contextmanager
def watched() -> Iterator[Path]:
    """The path that this thread takes while the context lasts."""
    path, before = Path(), sys.gettrace()
    sys.settrace(path.enter)
    try:
        yield path
    finally:
        sys.settrace(before)


def _wider(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(WIDER.get(tensor.dtype, tensor.dtype))
