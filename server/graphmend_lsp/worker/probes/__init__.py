"""Probes: uses of a program that its entry does not show, each aimed at one kind of assumption.

A probe runs both programs uncompiled, each from the state that it was loaded in, and their calls are compared like all
others. What differs in one makes a mend unsafe, with the assumption named; it never makes it wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import torch

from ..observe import Subject
from ..recipes import Arguments, Recipe
from . import (
    between,
    cost,
    dtypes,
    dynamic,
    failing,
    hooks,
    identities,
    integers,
    layouts,
    logged,
    raising,
    saved,
    settings,
    sizes,
    training,
    tried,
    warned,
)
from .base import Probe
from .kept import Kept

__all__ = ["PROBES", "Kept", "limited", "probed", "probing"]

_MODULES = (
    identities, raising, failing, settings, sizes, integers, dtypes, layouts, training, between, hooks, warned, logged, saved,
    cost, dynamic, tried,
)  # fmt: skip
PROBES: Mapping[str, Probe] = {probe.words: probe for module in _MODULES for probe in module.PROBES}
"""By words, the most telling first."""
ROOM = 2 << 30  # bytes that a probe may take beyond what the process has: a size that wraps is refused, not tried


def probing(
    subject: Subject, recipes: Sequence[Recipe], calls: Sequence[Arguments], *, gradients: bool, history: bool
) -> list[Recipe]:
    """The probes that fit, of each of these calls, all calls of one probe together.

    `gradients` says whether inputs may ask for gradients, `history` whether those may that are no leaves.
    """
    found: list[Recipe] = []
    for words, probe in PROBES.items():
        for recipe in recipes:
            if not probe.fits(subject, calls[recipe.base]):
                continue
            for floats, ints in probe.values:
                if floats and recipe.floats:
                    continue
                one = replace(recipe, own=False, again=False, floats=floats or recipe.floats, ints=ints or recipe.ints)
                computed = probe.throughout and history
                asked = probe.gradients and (gradients or computed)
                found.append(replace(one, probe=words, gradients=asked, history=asked and computed))
    return list(dict.fromkeys(found))


@contextmanager
def probed(name: str, subject: Subject, call: Arguments) -> Iterator[tuple[Subject, Arguments]]:
    """The program and its arguments in the use of that name; the program is put back behind it, but for its state."""
    if not name:
        yield subject, call
        return
    probe = PROBES[name]
    with ExitStack() as stack:
        made = probe.change(call)
        yield stack.enter_context(probe.around(subject, made)), made


@contextmanager
def limited() -> Iterator[None]:
    """Memory beyond `ROOM` is refused while the context lasts, where the system can do that and no CUDA maps its own."""
    if torch.cuda.is_initialized():
        yield
        return
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            taken = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
