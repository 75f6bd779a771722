"""What a probe is: a use of the program that its entry does not show, and the assumption that it puts to the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..observe import Subject

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Around = Callable[[Subject, Arguments], AbstractContextManager[Subject]]
Values = tuple[str, str]  # what is done to floating tensors, and to integers, before the probe has them (`variants`)


@dataclass(frozen=True)
class Probe:
    """One use. `words` name it behind the call's own name; `kind` is the assumption (`model.ASSUMPTIONS`) that it tests.

    `fits` says whether it is another use at all. `change` gives other arguments; `around` the program for this call,
    which it puts back. `values` are the calls that are made with it: those of the entry, and with other values.
    `refusals`: where the original raises, the mended program must raise the same; else such a call says nothing.
    `messages`: what is raised must say the same, too. `gradients`: floating inputs ask for theirs where they may.
    `throughout`: a use that the original refuses in one call, as on one side of a branch, is no use of it in any.
    """

    words: str
    kind: str
    fits: Callable[[Subject, Arguments], bool]
    change: Callable[[Arguments], Arguments] = lambda call: call
    around: Around = lambda subject, _call: nullcontext(subject)
    values: Sequence[Values] = (("", ""),)
    refusals: bool = False
    messages: bool = False
    gradients: bool = False
    throughout: bool = False
