"""Batches as large as the numbers in the source, and one larger.

Catches a message moved behind a method that counts batches of more than 16 rows, which no entry has; two sides of a
choice that have one shape only for inputs with as many dimensions as the entry's.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from ..variants import substitute
from .base import Arguments, Probe

LARGEST = 512
MOST_ELEMENTS = 1 << 20
USUAL = 33


def _batched(call: Arguments) -> list[torch.Tensor]:
    tensors = [one for _, one in tensors_of(call) if one.dim() and not isinstance(one, torch.nn.Parameter)]
    size = tensors[0].shape[0] if tensors else 0
    return [one for one in tensors if one.shape[0] == size and size > 0]


@functools.cache
def _compared(text: str) -> int:
    """One more than the largest number that something is compared with in a source."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return 0
    numbers = [
        part.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for part in (node.left, *node.comparators)
        if isinstance(part, ast.Constant) and type(part.value) is int and 1 < part.value < LARGEST
    ]
    return max(numbers, default=0) + 1


def size_for(subject: Subject) -> int:
    """The size of the batch: above every number that the source compares with, at most `LARGEST`."""
    found = 0
    for file in subject.files:
        try:
            found = max(found, _compared(inspect.getsource(file)))
        except (OSError, TypeError):
            continue
    return max(found, USUAL)


def _grown(call: Arguments, size: int) -> Arguments:
    made = {}
    for one in _batched(call):
        index = torch.arange(size, device=one.device) % one.shape[0]
        made[id(one)] = one.detach().index_select(0, index).requires_grad_(one.requires_grad)
    args, kwargs = substitute(call, made)
    return args, kwargs


@contextmanager
def enlarged(subject: Subject, _call: Arguments, size: int = 0) -> Iterator[Subject]:
    """Each call is made with a batch of so many rows, by default of `size_for`."""
    size = size or size_for(subject)

    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _grown((args, kwargs), size)
        return subject.function(*args, **kwargs)

    yield replace(subject, function=called)


def fits(_subject: Subject, call: Arguments) -> bool:
    """Whether a batch can be that large at all."""
    batched = _batched(call)
    return bool(batched) and sum(one.numel() // one.shape[0] for one in batched) * LARGEST <= MOST_ELEMENTS


def _dimensioned(call: Arguments) -> list[torch.Tensor]:
    tensors = [one for _, one in tensors_of(call) if one.dim() and not isinstance(one, torch.nn.Parameter)]
    return [one for one in tensors if one.layout == torch.strided]


def _deeper(call: Arguments) -> Arguments:
    """Every tensor twice, along a new first dimension."""
    made = {
        id(one): torch.stack([one.detach()] * 2).requires_grad_(one.requires_grad)
        for one in _dimensioned(call)
        if one.numel() <= MOST_ELEMENTS
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


def _flatter(call: Arguments) -> Arguments:
    """Of every tensor with rows the first row."""
    made = {
        id(one): one.detach()[0].clone().requires_grad_(one.requires_grad)
        for one in _dimensioned(call)
        if one.dim() > 1 and one.shape[0]
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


DEEPER = "with one dimension more"
FLATTER = "with one dimension fewer"

PROBES = (
    Probe("with a large batch", "shapes", fits, around=enlarged, refusals=True),
    Probe(DEEPER, "shapes", lambda _subject, call: bool(_dimensioned(call)), _deeper),
    Probe(FLATTER, "shapes", lambda _subject, call: any(one.dim() > 1 for one in _dimensioned(call)), _flatter),
)
