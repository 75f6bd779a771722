"""Which inputs of a graph are tensors that nobody but the function being compiled can see: locals that it made itself.

The rest of a function behind a graph break takes them as inputs, as it takes its arguments and a module's buffers. For
children that run user code.
"""

from __future__ import annotations

import gc
import inspect
import os
import re
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import torch
from torch._dynamo import resume_execution
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch.utils._pytree import tree_leaves

from .stacks import translators

_RESUME = "torch_dynamo_resume_in_"
_MANY = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
_LOCAL = re.compile(r"L\['(\w+)'\]")
_BETWEEN = tuple(os.path.dirname(os.path.abspath(one)) + os.sep for one in (torch.__file__, __file__))


def own_locals(sources: Sequence[str]) -> frozenset[int]:
    """The inputs, of graph inputs with these sources, that are locals and no parameters of the function being compiled.

    Empty where the function is compiled from its beginning on. To be asked in a backend, while Dynamo calls it.
    """
    chain = translators(InstructionTranslatorBase, 1)
    original = _original(chain[0].f_code) if chain else None
    if original is None:
        return frozenset()
    own = set(original.co_varnames[_parameters(original) :]) - set(original.co_cellvars)
    named = (_LOCAL.fullmatch(one) for one in sources)
    return frozenset(number for number, one in enumerate(named) if one is not None and one[1] in own)


def is_unseen(value: Any) -> bool:
    """Whether no object holds a tensor, or another of its memory, and no function on the stack was given it as an argument.

    To be asked where a graph gets it, in a function that torch calls.
    """
    if not isinstance(value, torch.Tensor) or value._base is not None:
        return False
    count = getattr(torch._C, "_storage_Use_Count", None)
    if count is None or count(value.untyped_storage()._cdata) > 2:  # itself, and what was just asked for
        return False
    if id(value) in map(id, _given()):
        return False
    passed = _passed()
    holders = gc.get_referrers(value)
    others = [one for one in holders if not isinstance(one, FrameType) and id(one) not in passed]
    return [one for one in others if not _is_on_a_stack(one, (holders, others))] == []  # a generator would be a holder


def _is_on_a_stack(one: object, besides: tuple[object, ...]) -> bool:
    """Whether it is a tuple of arguments, or what Dynamo was told of a frame, that frames alone hold, `besides` these."""
    if not (isinstance(one, tuple) or (isinstance(one, dict) and _is_frame(one))):
        return False
    others = [each for each in gc.get_referrers(one) if not isinstance(each, FrameType)]
    return all(any(each is known for known in besides) for each in others)


def _is_frame(one: dict[Any, Any]) -> bool:
    """Whether it has all arguments of a resume function on the stack, and nothing else; one that a caller has lacks itself."""
    codes = [frame.f_code for frame in _stack() if frame.f_code.co_name.startswith(_RESUME)]
    return any(set(one) == set(code.co_varnames[: _parameters(code)]) for code in codes)


def _original(code: CodeType) -> CodeType | None:
    """The code of the function that a resume function goes on with."""
    kept = getattr(getattr(resume_execution, "ContinueExecutionCache", None), "generated_code_metadata", {})
    found = kept.get(code) if hasattr(kept, "get") else None
    original = getattr(found, "code", None)
    return original if isinstance(original, CodeType) else None


def _passed() -> set[int]:
    """The containers in which torch hands arguments on, from the compiled function to here."""
    found: set[int] = set()
    for frame in _stack():
        if not _is_between(frame):
            break
        found |= {id(one) for one in (frame.f_locals, *frame.f_locals.values()) if isinstance(one, (tuple, list, dict))}
    return found


def _given() -> Iterator[Any]:
    """The arguments of the functions on the stack, those that resume functions go on with among them, and what is in them."""
    for frame in _stack():
        code = frame.f_code
        if not (_is_between(frame) or code.co_name.startswith(_RESUME)):
            values = frame.f_locals
            yield from tree_leaves([values[name] for name in code.co_varnames[: _parameters(code)] if name in values])


def _stack() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_between(frame: FrameType) -> bool:
    """Whether a frame is torch's or ours."""
    return os.path.abspath(frame.f_code.co_filename).startswith(_BETWEEN)


def _parameters(code: CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount + sum(bool(code.co_flags & one) for one in _MANY)
