"""The program's loggers at their lowest level: records that the entry's run never made.

Catches a ``log.debug(...)`` that is moved, whose record then has another function's name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ..observe import Subject
from .base import Arguments, Probe


def _loggers(subject: Subject) -> list[logging.Logger]:
    found = [one for file in subject.files for one in vars(file).values() if isinstance(one, logging.Logger)]
    return [one for one in dict.fromkeys(found) if one.getEffectiveLevel() > logging.DEBUG]


@contextmanager
def _at_debug(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    kept = [(one, one.level) for one in _loggers(subject)]
    try:
        for one, _ in kept:
            one.setLevel(logging.DEBUG)
        yield subject
    finally:
        for one, level in kept:
            one.setLevel(level)


PROBES = (
    Probe("with its loggers at level DEBUG", "log-records", lambda subject, _call: bool(_loggers(subject)), around=_at_debug),
)  # fmt: skip
