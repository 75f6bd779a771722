"""Programs that torch.compile refuses: they run uncompiled, and raise when they are compiled. What raises, and where.

Runs in a child process, after a compiled run that failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .compiling import uncompiled, without_compiling
from .failures import said_by
from .places import kind_of
from .program import Program
from .recorder import Recorder
from .stacks import chain_of
from .wire import BreakData, Cause, FailureData, FrameData

Make = Callable[[], Program]
Calls = Callable[[Program, Recorder, Callable[..., Any] | None], FailureData | None]
"""Makes a program's calls with a function in place of the compiled one, or compiled; what failed."""

_ONCE = (
    "Uncompiled the program runs, and compiled after that, too: only a first call that is compiled raises. "
    "Call it once before it is compiled."
)

Handled = dict[str, list[FrameData]]
"""Where an exception of this text was raised in the program's own code, and handled: the chain of calls."""


def record_refusal(failed: FailureData, make: Make, calls: Calls, recorder: Recorder) -> FailureData | None:
    """After a compiled run that failed: record what torch.compile refuses. Gives the program's own failure, if any.

    The program is built again for each run, because calls may change it. In the last run the frames that Dynamo fails on
    are left to Python, so what it does with the others is known. What raises even then, compiled code does.
    """
    import torch._dynamo

    if failed["kind"] != "exception" or failed["stage"] not in ("call", "backward"):
        return failed
    program = make()
    with without_compiling(program.callable), noting_handled() as handled:
        own = calls(program, Recorder(), uncompiled(program.callable))
    if own is not None:
        return own  # where it is not the same, what torch.compile made of it
    torch._dynamo.reset()
    recorder.restart(refusing=True)
    with torch._dynamo.config.patch(suppress_errors=True):
        again = calls(make(), recorder, None)
    if again is not None:
        _refuse(recorder, again, handled)
    elif not any(event["outcome"] == "refused" for event in recorder.events):
        return FailureData(**{**failed, "remedy": _ONCE})
    return None


@contextmanager
def noting_handled() -> Iterator[Handled]:
    """Note the exceptions that the program's own code meets meanwhile, each where it was met first."""
    handled: Handled = {}

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and isinstance(arg[1], BaseException):
            said = said_by(arg[1])
            if said not in handled:
                handled[said] = chain_of(frame)
        return local

    def trace(frame: FrameType, _event: str, _arg: Any) -> Any:
        if kind_of(frame.f_code.co_filename) != "code":
            return None
        frame.f_trace_lines = False
        return local

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield handled
    finally:
        sys.settrace(before)


def _refuse(recorder: Recorder, failed: FailureData, handled: Handled) -> None:
    """Tell a failure of compiled code: at the last break in its line, else where the uncompiled program handles the same."""
    here = (failed["path"], failed["line"])
    said = failed["message"]
    for number in range(len(recorder.events) - 1, -1, -1):
        event = recorder.events[number]
        if any((frame["file"], frame["line"]) == here for frame in event["frames"]):
            root = Cause(**{**event["root"], "explanation": said})
            recorder.events[number] = BreakData(**{**event, "outcome": "refused", "root": root})
            return
    place = FrameData(
        file=failed["path"] or "", line=failed["line"] or 1, column=None, end_line=None, end_column=None,
        function="", kind="code",
    )  # fmt: skip
    frames = handled.get(said) or [place]
    cause = Cause(gb_id=None, gb_type=said.partition(":")[0], context="", explanation=said, hints=[])
    recorder.events.append(
        BreakData(
            cause=cause,
            root=cause,
            outcome="refused",
            frames=frames,
            compiled=frames[0]["function"],
            call=recorder.call,
        )
    )
