"""Answers for programs that ask a tensor without data for its value: truth tests by a script, numbers small.

Every truth test is noted with its place in the user's code, so that another run can answer it the other way. Loops on
values end: what one frame asks at one place too often is answered differently. Standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from .places import kind_of
from .stacks import frame_data
from .wire import Answer, FrameData

MAX_ASKED = 64  # how often one frame may ask at one place before the answers change
LONGEST = 20_000  # questions in one run
_OTHER_NUMBERS = (0, -1, 1000, 2)


class EndlessError(BaseException):
    """The program asks for values without end."""


@dataclass(frozen=True)
class Profile:
    """How a run answers besides truth tests: which `number` values are, and whether conditions select all elements."""

    number: int = 1
    selects_all: bool = False


@dataclass
class _Asking:
    frame: FrameType | None
    times: int


@dataclass
class Oracle:
    """One run's answers. `script` are the first truth tests' answers; later ones are false.

    `answers` are the truth tests as they were answered, `numbers` counts the other questions.
    """

    script: Sequence[bool] = ()
    profile: Profile = field(default_factory=Profile)
    answers: list[Answer] = field(default_factory=list)
    numbers: int = 0
    shapes: int = 0
    _testing: int = 0
    _asking: dict[tuple[str, int, int | None], _Asking] = field(default_factory=dict)

    @property
    def selects_all(self) -> bool:
        """Asked where a shape depends on values."""
        self.shapes += 1
        return self.profile.selects_all

    def begin_test(self) -> None:
        """A truth test of a tensor begins: the value it asks for next is a truth value, whatever its dtype."""
        self._testing += 1

    def end_test(self) -> None:
        """It ends."""
        self._testing -= 1

    def value(self, dtype: Any) -> Any:
        """The value of one element of a tensor."""
        name = str(dtype).removeprefix("torch.")
        if name == "bool" or self._testing:
            truth = self.truth()
            return truth if name == "bool" else _as(name, int(truth))
        self.numbers += 1
        return _as(name, self._number())

    def truth(self) -> bool:
        """The answer to a truth test."""
        place, asked = self._ask()
        number = len(self.answers)
        if number < len(self.script):
            value = self.script[number]
        else:
            value = asked > MAX_ASKED and asked % 2 == 1
        self.answers.append(
            Answer(
                file=place["file"],
                line=place["line"],
                column=place["column"],
                end_line=place["end_line"],
                end_column=place["end_column"],
                value=value,
            )
        )
        return value

    def _number(self) -> int:
        _, asked = self._ask()
        return self.profile.number if asked <= MAX_ASKED else _OTHER_NUMBERS[asked % len(_OTHER_NUMBERS)]

    def _ask(self) -> tuple[FrameData, int]:
        """Where the question comes from, and how often in a row the same frame asks there."""
        if len(self.answers) + self.numbers > LONGEST:
            raise EndlessError
        frame = _user_frame()
        place = _NOWHERE if frame is None else frame_data(frame)
        known = self._asking.setdefault((place["file"], place["line"], place["column"]), _Asking(frame, 0))
        if known.frame is not frame:
            known.frame, known.times = frame, 0  # the frame is kept, so that no other takes its place
        known.times += 1
        return place, known.times


def _user_frame() -> FrameType | None:
    """The innermost frame of the user's code, else the innermost that is neither torch's nor the worker's."""
    frame: FrameType | None = sys._getframe(1)
    other: FrameType | None = None
    while frame is not None:
        kind = kind_of(frame.f_code.co_filename)
        if kind == "code":
            return frame
        if kind == "stdlib" and other is None:
            other = frame
        frame = frame.f_back
    return other


def _as(name: str, number: int) -> Any:
    if name.startswith(("float", "bfloat")):
        return float(number)
    return complex(number) if name.startswith("complex") else number


_NOWHERE = FrameData(file="", line=0, column=None, end_line=None, end_column=None, function="", kind="code")
