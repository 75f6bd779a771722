"""Flags and settings of modules that the entry has one way: all flags the other way round, dropout that drops, defaults.

Catches a message moved behind ``nn.ReLU(inplace=True)`` or a method that changes a global under ``self.warmup``; random
numbers drawn before a check that stood in front of ``Dropout(0.1)``; ``strict=False`` that nobody passes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from .base import Arguments, Probe

DROPPED = 0.25
_INNARDS = frozenset(vars(torch.nn.Module()))

DROPPING = "with active dropout"

FLAGS_LEFT_OUT = "with the flags that it leaves out set to the opposite"


def _parts(subject: Subject) -> list[torch.nn.Module]:
    found = {id(part): part for module in subject.modules.values() for part in module.modules()}
    return list(found.values())


def _flags(subject: Subject) -> list[tuple[torch.nn.Module, str]]:
    """Attributes that are plain flags, of the program's own modules; of torch's, whether they work in place."""
    found = []
    for part in _parts(subject):
        own = not type(part).__module__.startswith("torch.")
        for name, value in vars(part).items():
            if type(value) is bool and name not in _INNARDS and (own or name == "inplace"):
                found.append((part, name))
    return found


def _drops(subject: Subject) -> list[torch.nn.Module]:
    return [part for part in _parts(subject) if isinstance(part, torch.nn.modules.dropout._DropoutNd)]


@contextmanager
def _flipped(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    flags = [(part, name, getattr(part, name)) for part, name in _flags(subject)]
    try:
        for part, name, value in flags:
            setattr(part, name, not value)
        yield subject
    finally:
        for part, name, value in flags:
            setattr(part, name, value)


@contextmanager
def _dropping(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """Dropout trains and drops, all other modules are as they were (Monte-Carlo dropout)."""
    drops = [(part, part.p, part.training) for part in _drops(subject)]
    try:
        for part, _, _ in drops:
            part.p, part.training = DROPPED, True
        yield subject
    finally:
        for part, p, training in drops:
            part.p, part.training = p, training


def _defaults(function: Callable[..., Any], call: Arguments) -> dict[str, Any]:
    """Flags among the parameters that the call leaves at their default, the other way round."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        bound = inspect.signature(target).bind(*call[0], **call[1])
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return {}
    passing = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        one.name: not one.default
        for one in parameters
        if type(one.default) is bool and one.name not in bound.arguments and one.kind in passing
    }


@contextmanager
def _undefaulted(subject: Subject, call: Arguments) -> Iterator[Subject]:
    others = _defaults(subject.function, call)

    def called(*args: Any, **kwargs: Any) -> Any:
        return subject.function(*args, **{**kwargs, **others})

    yield replace(subject, function=called)


VALUES = (("", ""), ("one NaN", ""), ("large", ""))
PROBES = (
    Probe("with the flags of its modules set to the opposite", "settings",
          lambda subject, _call: bool(_flags(subject)), around=_flipped, values=VALUES, refusals=True),
    Probe(DROPPING, "settings", lambda subject, _call: bool(_drops(subject)), around=_dropping,
          values=VALUES, refusals=True, gradients=True),
    Probe(FLAGS_LEFT_OUT, "settings",
          lambda subject, call: bool(_defaults(subject.function, call)), around=_undefaulted, values=VALUES,
          refusals=True),
)  # fmt: skip
