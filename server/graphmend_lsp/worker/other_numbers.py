"""Other Python numbers in place of those among a call's arguments: pure, in plain containers only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Numbers:
    """Python values of exactly one type, and what takes their place: near, so that a program still takes them."""

    type: type
    other: Callable[[Any], Any]


NUMBERS: Mapping[str, Numbers] = {
    "floats": Numbers(float, lambda value: value * 0.75 or 0.25),
    "integers": Numbers(int, lambda value: value + 1),
    "flags": Numbers(bool, lambda value: not value),
}


def renumbered(value: Any, numbers: Numbers) -> Any:
    """The value with other numbers, which are looked for in plain containers only: objects may be settings."""
    if type(value) is numbers.type:
        return numbers.other(value)
    if type(value) in (tuple, list):
        return type(value)(renumbered(part, numbers) for part in value)
    if type(value) is dict:
        return {key: renumbered(part, numbers) for key, part in value.items()}
    return value


def has_number(value: Any, numbers: Numbers) -> bool:
    """Whether there is such a number."""
    if type(value) in (tuple, list):
        return any(has_number(part, numbers) for part in value)
    if type(value) is dict:
        return any(has_number(part, numbers) for part in value.values())
    return type(value) is numbers.type
