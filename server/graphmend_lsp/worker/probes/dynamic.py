"""The first dimension of the inputs marked dynamic. Shows itself compiled alone (`compiled`).

Catches a loop over rows that is written out for the number of rows that the entry has: torch.compile then raises for a
dimension that the program calls dynamic. Code that makes it constant and is neither a mend's nor where the graph broke is
the program's own: torch.compile meets it with the mark as soon as no break stands before it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
import torch._dynamo
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

from ..observe import Raised, Subject
from ..snapshot import tensors_of, type_name
from .base import Arguments, Probe

if TYPE_CHECKING:
    from ..trials import Trial

MARKED = "with its first dimension marked dynamic"
_NAMES = re.compile(r"Constraints violated \((.*)\)!")
_FRAME = re.compile(r'^  File "(.*)", line (\d+), in .*\n    (.*)$', re.MULTILINE)


CONSTANT = type_name(ConstraintViolationError)
"""The type of what is raised where code makes a dimension constant that was marked dynamic."""
ELSEWHERE = f"{CONSTANT} elsewhere"
"""The type of what is raised where that says nothing of a mend."""
_SAID = re.compile(r"^.* becomes constant at .*?: (.*)$")


def code_of(raised: Raised) -> str | None:
    """The line of code that makes a dimension constant, where that is what was raised; without its indentation."""
    said = _SAID.match(raised.message) if raised.type == CONSTANT else None
    return said[1] if said else None


def told_of(trial: Trial, code: Collection[str]) -> Trial:
    """The trial in which a dimension that becomes constant says something of these lines of code only (`ELSEWHERE`)."""
    seen = tuple(
        replace(one, raised=replace(one.raised, type=ELSEWHERE))
        if one.raised is not None and code_of(one.raised) not in (None, *code)
        else one
        for one in trial.observations
    )
    return trial if seen == trial.observations else replace(trial, observations=seen)


def _batched(call: Arguments) -> list[torch.Tensor]:
    tensors = [one for _, one in tensors_of(call) if type(one) is torch.Tensor and one.dim() and one.shape[0] > 1]
    return [one for one in tensors if one.shape[0] == tensors[0].shape[0]]


@contextmanager
def _marked(subject: Subject, call: Arguments) -> Iterator[Subject]:
    for one in _batched(call):
        torch._dynamo.mark_dynamic(one, 0)

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return subject.function(*args, **kwargs)
        except ConstraintViolationError as error:
            names, frames = _NAMES.search(str(error)), _FRAME.findall(str(error))
            if names is None or not frames:
                raise
            file, line, code = frames[-1]
            words = f"{names[1]} becomes constant at {os.path.basename(file)}:{line}: {code.strip()}"
            raise ConstraintViolationError(words) from None

    yield replace(subject, function=called)


PROBES = (Probe(MARKED, "constant-dimension", lambda _subject, call: bool(_batched(call)), around=_marked),)
