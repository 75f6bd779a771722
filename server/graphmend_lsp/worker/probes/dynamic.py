"""The first dimension of the inputs marked dynamic. Shows itself compiled alone (`compiled`).

Catches a loop over rows that is written out for the number of rows that the entry has: torch.compile then raises for a
dimension that the program calls dynamic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch._dynamo

from ..observe import Subject
from ..snapshot import tensors_of
from .base import Arguments, Probe

MARKED = "with its first dimension marked dynamic"


def _batched(call: Arguments) -> list[torch.Tensor]:
    tensors = [one for _, one in tensors_of(call) if type(one) is torch.Tensor and one.dim() and one.shape[0] > 1]
    return [one for one in tensors if one.shape[0] == tensors[0].shape[0]]


@contextmanager
def _marked(subject: Subject, call: Arguments) -> Iterator[Subject]:
    for one in _batched(call):
        torch._dynamo.mark_dynamic(one, 0)
    yield subject


PROBES = (Probe(MARKED, "constant-dimension", lambda _subject, call: bool(_batched(call)), around=_marked),)
