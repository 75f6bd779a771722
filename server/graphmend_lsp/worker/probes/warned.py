"""Warnings as errors.

Catches a warning that is given while torch compiles, where an error of the user's becomes one of the compiler's.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..observe import Subject
from .base import Arguments, Probe

AS_ERRORS = "with warnings as errors"


@contextmanager
def _errors(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """Torch's own warnings stay what they are: it gives some of them of itself."""

    def called(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for words in ("torch", "Converting a tensor", "The given"):
                warnings.filterwarnings("default", message=words)
            warnings.filterwarnings("default", module=r"torch\.")
            return subject.function(*args, **kwargs)

    yield replace(subject, function=called)


PROBES = (
    Probe(AS_ERRORS, "warning-filters", lambda _subject, _call: True, around=_errors, refusals=True),
)  # fmt: skip
