"""Call chains: from the program's call down to the expression at which Dynamo stopped, as frames of the wire.

Three sources are joined: the Python frames above the one being compiled, the frames Dynamo has inlined (its
translators), and, where neither is at hand, the stack an exception carries. Reads torch's
objects, imports nothing of torch.
"""

from __future__ import annotations

import dis
import itertools
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from .places import kind_of
from .wire import FrameData

_RESUME = "torch_dynamo_resume_in_"
_DYNAMO = os.path.join("torch", "_dynamo")
_CONVERSION = os.path.join(_DYNAMO, "convert_frame.py")
_TAPS = "recorder.py"
_SUPPORT = "graphmend_support.py"
_TO_BOOL = dis.opmap.get("TO_BOOL", -1)  # a conversion in front of a jump (Python 3.13)
_TO_BOOL_CACHES = 4  # places up to the instruction behind it, and that one
_MODULE_CALL = ("Module._wrapped_call_impl", "Module._call_impl", "_wrapped_call_impl", "_call_impl")


def translators(base: type, depth: int) -> list[Any]:
    """The translators at work on this thread's stack, outermost first; `depth` frames of the caller are passed over."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        if "self" in frame.f_code.co_varnames[:1]:
            found = frame.f_locals.get("self")
            if isinstance(found, base):
                chain = []
                while found is not None:
                    chain.append(found)
                    found = getattr(found, "parent", None)
                return chain[::-1]
        frame = frame.f_back
    return []


def raised_in(error: BaseException, base: type) -> list[Any]:
    """The translators that an exception passed through, outermost first."""
    trace, innermost = error.__traceback__, None
    while trace is not None:
        found = trace.tb_frame.f_locals.get("self")
        innermost = found if isinstance(found, base) else innermost
        trace = trace.tb_next
    chain = []
    while innermost is not None:
        chain.append(innermost)
        innermost = getattr(innermost, "parent", None)
    return chain[::-1]


def inlined(chain: Iterable[Any]) -> list[FrameData]:
    """The frames of these translators, each at the instruction it stands at."""
    frames = []
    for translator in chain:
        code: CodeType = translator.f_code
        instruction = getattr(translator, "current_instruction", None)
        positions = getattr(instruction, "positions", None)
        line = getattr(positions, "lineno", None) or getattr(translator, "lineno", None) or code.co_firstlineno
        columns = (
            getattr(positions, "end_lineno", None),
            getattr(positions, "col_offset", None),
            getattr(positions, "end_col_offset", None),
        )
        frames.append(_frame(code, line, columns, _first_traced(translator, code)))
    return frames


def above(depth: int) -> list[FrameData]:
    """The Python frames that led to the compilation going on, outermost first, from the worker's call down."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith(_CONVERSION):
            found.clear()  # Dynamo's own work lies further in
        elif kind_of(file) == "worker":
            if not file.endswith(_TAPS):
                break
        elif not os.path.dirname(file).endswith(_DYNAMO):
            found.append(frame)
        frame = frame.f_back
    return [frame_data(frame) for frame in reversed(found)]


def chain_of(frame: FrameType) -> list[FrameData]:
    """The program's own frames that led to this one, outermost first, and it."""
    found: list[FrameData] = []
    each: FrameType | None = frame
    while each is not None:
        if (kind := kind_of(each.f_code.co_filename)) == "worker":
            break
        if kind == "code":
            found.append(frame_data(each))
        each = each.f_back
    return found[::-1]


def frame_data(frame: FrameType) -> FrameData:
    """A live Python frame at the instruction it stands at."""
    code = frame.f_code
    line = frame.f_lineno or code.co_firstlineno
    columns: tuple[int | None, int | None, int | None] = (None, None, None)
    if hasattr(code, "co_positions"):
        index = frame.f_lasti // 2
        found = next(itertools.islice(code.co_positions(), index, None), (None,) * 4)
        if found[2] is None and code.co_code[frame.f_lasti] == _TO_BOOL:
            # From Python 3.13 on Dynamo puts one without a place in front of the jump, which has the condition's.
            behind = itertools.islice(code.co_positions(), index + 1, index + 1 + _TO_BOOL_CACHES)
            found = next((one for one in behind if one[2] is not None), found)
        if found[0] is not None:
            line, columns = found[0], (found[1], found[2], found[3])
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return _frame(code, line, columns, first)


def carried(stack: Sequence[Any] | None) -> list[FrameData]:
    """The frames of a `traceback.StackSummary`; columns only where the Python version has them."""
    frames = []
    for item in stack or ():
        columns = (getattr(item, "end_lineno", None), getattr(item, "colno", None), getattr(item, "end_colno", None))
        data = _place(item.filename, item.name, item.lineno or 1, columns)
        frames.append(data)
    return [frame for frame in frames if kind_of(frame["file"]) != "worker"]


def joined(outer: Sequence[FrameData], inner: Sequence[FrameData]) -> list[FrameData]:
    """One chain: a frame and the resume function that goes on with it are one frame, at the latter's place.

    Without the frames by which torch calls a module, and those of what a mend has put around a function.
    """
    chain: list[FrameData] = []
    frames = (*outer, *inner)
    for number, frame in enumerate(frames, 1):
        if frame["kind"] == "torch" and frame["function"] in _MODULE_CALL:
            continue
        if number < len(frames) and os.path.basename(frame["file"]) == _SUPPORT:
            continue
        resumed = _RESUME in frame["function"]
        named = {**frame, "function": original_name(frame["function"])}
        if resumed and chain and _is_same(chain[-1], named):
            named["function"] = chain[-1]["function"]
            chain.pop()
        chain.append(FrameData(**named))  # type: ignore[typeddict-item]
    return chain


def original_name(name: str) -> str:
    """The name of the function that a resume function goes on with."""
    while (at := name.rfind(_RESUME)) >= 0:
        name = name[:at] + name[at + len(_RESUME) :].rpartition("_at_")[0]
    return name


def name_of(code: CodeType) -> str:
    """A function's name as it is shown: qualified where Python knows that."""
    name = getattr(code, "co_qualname", code.co_name)
    return str(name)


def _is_same(frame: FrameData, resumed: dict[str, Any]) -> bool:
    names = (frame["function"].rpartition(".")[2], resumed["function"].rpartition(".")[2])
    return frame["file"] == resumed["file"] and names[0] == names[1]


def _frame(code: CodeType, line: int, columns: tuple[int | None, int | None, int | None], first: object) -> FrameData:
    data = _place(code.co_filename, name_of(code), line, columns)
    if isinstance(first, logging.Logger):
        data["kind"] = "logger"
    return data


def _place(file: str, function: str, line: int, columns: tuple[int | None, int | None, int | None]) -> FrameData:
    end_line, column, end_column = columns
    kind = kind_of(file)
    known = None not in columns
    return FrameData(
        file=file,
        line=line,
        column=column if known else None,
        end_line=end_line if known else None,
        end_column=end_column if known else None,
        function=function,
        kind="code" if kind == "worker" else kind,
    )


def _first_traced(translator: Any, code: CodeType) -> object:
    """The real object behind the first argument of a traced function, if that is kept; nothing is made real for it."""
    if not code.co_argcount:
        return None
    variable = getattr(translator, "symbolic_locals", {}).get(code.co_varnames[0])
    for value in _values(variable):
        if isinstance(value, logging.Logger):
            return value
    return None


def _values(variable: object) -> Iterator[object]:
    for _ in range(4):
        own = getattr(variable, "__dict__", None)
        if not isinstance(own, dict):
            return
        yield own.get("value")
        variable = own.get("_cache") or own.get("vt")
