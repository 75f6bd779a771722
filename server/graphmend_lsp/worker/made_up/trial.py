"""One uncompiled call of a program with invented inputs, and what its failure tells: the message and the lines it came from.

What is kept of a failure is plain data, so that `repair` needs nothing of torch.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

_FRAMES = 6
_LOCALS = 60


@dataclass(frozen=True)
class Seen:
    """One frame of a failed call: its function, its source line, its tensors' shapes and its names that are None."""

    function: str
    line: str
    shapes: Mapping[str, tuple[int, ...]]
    absent: frozenset[str]


@dataclass(frozen=True)
class Trouble:
    """Why a call failed. `frames` are innermost first, torch's own left out."""

    kind: str
    message: str
    frames: tuple[Seen, ...] = ()

    @property
    def words(self) -> str:
        """The failure in one line."""
        first = next((line.strip() for line in self.message.splitlines() if line.strip()), "")
        return f"{self.kind}: {first}" if first else self.kind


def attempt(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], *, gradients: bool
) -> Trouble | None:
    """Call it once; what went wrong, if anything did."""
    import torch

    from .attention import FittingMasks

    try:
        with torch.set_grad_enabled(gradients), FittingMasks():
            function(*args, **kwargs)
    except Exception as error:
        return trouble_of(error)
    return None


def trouble_of(error: BaseException) -> Trouble:
    """A failure as data."""
    frames = []
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if "/torch/" in file.replace("\\", "/") or "/made_up/" in file.replace("\\", "/"):
            continue
        frames.append(_seen(frame, line))
        if len(frames) == _FRAMES:
            break
    try:
        message = str(error)
    except Exception:
        message = ""
    return Trouble(type(error).__name__, message[:4000], tuple(frames))


def _seen(frame: FrameType, line: int) -> Seen:
    import torch

    shapes: dict[str, tuple[int, ...]] = {}
    absent = set()
    for name, value in list(frame.f_locals.items())[:_LOCALS]:
        if value is None:
            absent.add(name)
        elif isinstance(value, torch.Tensor):
            shapes[name] = tuple(value.shape)
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    return Seen(frame.f_code.co_name, text, shapes, frozenset(absent))
