"""A program and its calls in float64, and the lines that a call runs: what a difference of rounding is told from.

For children that run user code. Whether it was rounding is decided elsewhere (`rounding`).
"""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, Literal

import torch
from torch._library import custom_ops
from torch.fx.node import map_aggregate
from torch.utils._python_dispatch import TorchDispatchMode

from .places import kind_of
from .recipes import Arguments
from .snapshot import tensors_of
from .variants import substitute

Double = Literal["", "double", "widened"]
"""A program as it is; with modules and arguments in float64; with all in float64 that it makes or puts into float32, too."""
WIDER: Mapping[torch.dtype, torch.dtype] = {torch.float32: torch.float64, torch.complex64: torch.complex128}
"""Other dtypes stay: a program that rounds to float16 in between is another one in float64."""


_DRAWN = ("rand", "normal")  # functions that draw numbers, and take a dtype


class Widening(TorchDispatchMode):
    """While it lasts, what is made in float32 or put into it is float64: a program that computes a norm in float32, from whatever
    it is given, would round there as before.

    TorchDynamo compiles as it does without (`widen_graph` is for its graphs), and operators that take functions run as they are.
    """

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Asked by TorchDynamo, which else would leave alone what runs in a mode."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator, with a wider dtype where it is given one."""
        if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):  # in float64 it would draw other numbers
            return func(*args, **kwargs or {})
        named = {name: _wider_dtype(one) for name, one in (kwargs or {}).items()}
        body = _body_of(func)
        with self if body is not None else nullcontext():
            return (body or func)(*map(_wider_dtype, args), **named)


@contextmanager
def widening() -> Iterator[None]:
    """`Widening`, in which what is made without a dtype is float64 as well."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(_wider_dtype(before))
    try:
        with Widening():
            yield
    finally:
        torch.set_default_dtype(before)


def widen_graph(graph: torch.fx.GraphModule) -> None:
    """Do the same to a graph of TorchDynamo's that was not compiled yet, in place."""
    for module in graph.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if str(getattr(node.target, "__name__", "")).startswith(_DRAWN):
                continue
            node.args, node.kwargs = (map_aggregate(one, _wider_dtype) for one in (node.args, node.kwargs))
            if node.op == "call_method" and node.target == "float":
                node.target = "double"
        module.recompile()


def _body_of(operator: Any) -> Callable[..., Any] | None:
    """The function that an operator of the program was made of: what that does is widened as well."""
    known = getattr(custom_ops, "OPDEFS", {}).get(getattr(operator, "_name", "").removesuffix(".default"))
    body = getattr(known, "_init_fn", None)
    return body if callable(body) else None


def _wider_dtype(value: Any) -> Any:
    return WIDER.get(value, value) if isinstance(value, torch.dtype) else value


def widen_modules(modules: Mapping[str, torch.nn.Module]) -> None:
    """Put parameters and buffers into float64, in place."""
    for module in modules.values():
        module._apply(_wider)


def widened(call: Arguments) -> Arguments:
    """The arguments with their tensors in float64. Containers and objects are changed in place; parameters stay.

    What has a history has one then, too.
    """
    replaced: dict[int, torch.Tensor] = {}
    for _, tensor in tensors_of(call):
        if type(tensor) is torch.Tensor and tensor.dtype in WIDER:
            wide = _wider(tensor.detach()).requires_grad_(tensor.requires_grad)
            replaced[id(tensor)] = wide if tensor.is_leaf else wide * 1
    made = substitute(call, replaced)
    return made[0], made[1]


class Path:
    """Which lines of the program and its packages ran, in order, not those of torch and of Python's own library."""

    def __init__(self) -> None:
        self._seen = hashlib.blake2b(digest_size=16)

    @property
    def digest(self) -> str:
        """The same for the same lines in the same order."""
        return self._seen.hexdigest()

    def enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        """What `sys.settrace` is told."""
        file = frame.f_code.co_filename
        if kind_of(file) != "code" or (file.startswith("<") and kind_of(_home(frame)) == "worker"):
            return None
        return self._line(frame, event, argument)

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event in ("call", "line"):
            self._seen.update(f"{frame.f_code.co_filename}:{frame.f_lineno}\n".encode())
        return self._line


def _home(frame: FrameType) -> str:
    """The file of the module that code without a file was made for: a dataclass of ours, say, whose methods Python writes."""
    return str(frame.f_globals.get("__file__") or "<unknown>")


@contextmanager
def watched() -> Iterator[Path]:
    """The path that this thread takes while the context lasts; nothing is collected, which runs lines at any time."""
    path, before, collects = Path(), sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(path.enter)
    try:
        yield path
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()


def _wider(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(WIDER.get(tensor.dtype, tensor.dtype))
