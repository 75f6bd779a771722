# ruff: noqa
# fmt: off
# isort: skip_file
# mypy: ignore-errors
"""What code that GraphMend has mended imports. It needs torch alone.

GraphMend writes this file once, and writes it anew when it has a newer one. Do not edit it. Two copies in one process
(of two projects, or of two versions) work together: what they share is kept in torch.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import types
import zlib
from typing import Any, Callable, Dict, Type, TypeVar

import torch

__all__ = ["all_rows", "captures", "check", "chosen_rows", "defer", "operator", "runs_deferred", "while_tracing"]

VERSION = 1
F = TypeVar("F", bound=Callable[..., Any])

# Never change what is in here: copies of other versions use it, too.
_shared: Dict[str, Any] = vars(torch).setdefault("_graphmend", {"raised": {}, "deferred": None})


def check(holds: Any, error: Type[BaseException], *arguments: Any) -> bool:
    """Raise `error(*arguments)` where `holds` is false; an operator of the graph does so in compiled code.

    `arguments` are texts, numbers, True, False and None. What it gives is True, so that it can stand in an `assert`.
    """
    if not torch.compiler.is_compiling() or not isinstance(holds, torch.Tensor):
        if not holds:
            raise error(*arguments)
    else:  # an operator whose value nobody uses would be left out
        torch._assert_async(torch.ops.graphmend.check_1(holds, _raised(error, arguments)), "graphmend_support.check")
    return True


def _raised(error: Type[BaseException], arguments: Any) -> str:
    """The name under which the operator finds the exception; Dynamo calls this while it traces."""
    number = 0
    while True:
        name = json.dumps([error.__module__, error.__qualname__, list(arguments), number])
        if _shared["raised"].setdefault(name, error) is error:
            return name
        number += 1  # another class of that name: a file that was loaded twice


_raised._dynamo_marked_constant = True  # as assume_constant_result, which loads Dynamo


def _check(holds: torch.Tensor, raised: str) -> torch.Tensor:
    if not holds:
        module, name, arguments, _ = json.loads(raised)
        error = _shared["raised"].get(raised)
        if error is None:  # the graph was made by another process
            error = functools.reduce(getattr, name.split("."), importlib.import_module(module))
        raise error(*arguments)
    return torch.ones((), dtype=torch.bool, device=holds.device)


def _check_fake(holds: torch.Tensor, raised: str) -> torch.Tensor:
    return torch.empty((), dtype=torch.bool, device=holds.device)


if not hasattr(torch.ops.graphmend, "check_1"):
    _library = _shared["library 1"] = torch.library.Library("graphmend", "FRAGMENT")
    _unsafe = getattr(torch.Tag, "cudagraph_unsafe", None)  # it waits for the device
    _library.define("check_1(Tensor holds, str raised) -> Tensor", tags=() if _unsafe is None else (_unsafe,))
    _library.impl("check_1", _check, "CompositeExplicitAutograd")
    torch.library.register_fake("graphmend::check_1", _check_fake, lib=_library)


def defer(effect: Callable[[], object]) -> None:
    """Run an effect when the function under `runs_deferred` is over; at once when none is running."""
    waiting = _shared["deferred"]
    if waiting is None:
        effect()
    else:
        waiting.append(effect)


def runs_deferred(function: F) -> F:
    """Let effects that `function` defers run when it returns or raises, outside of its graphs."""

    @torch.compiler.disable
    def flush(effects: Any) -> None:
        for effect in effects:
            effect()

    @torch.compiler.disable(recursive=False)
    def run(args: Any, kwargs: Any) -> Any:
        if _shared["deferred"] is not None:
            return function(*args, **kwargs)
        _shared["deferred"] = []
        try:
            return function(*args, **kwargs)
        finally:
            effects, _shared["deferred"] = _shared["deferred"], None
            flush(effects)

    @torch.compiler.disable(recursive=False)
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return run(args, kwargs)

    return wrapper


def while_tracing(function: F) -> F:
    """Let Dynamo call `function` while it traces, and take what it gives for a constant; anew for other arguments."""
    function._dynamo_marked_constant = True
    return function


def captures(**settings: bool) -> Callable[[F], F]:
    """Let Dynamo trace a function that it compiles with these of its settings (`torch._dynamo.config`).

    It takes the place of the function, so it raises a TypeError for what another decorator has made something else.
    """

    def decorate(function: F) -> F:
        own = [name for name in vars(function) if name != "__wrapped__" and not name.startswith("_torchdynamo")]
        if own or not isinstance(function, (types.FunctionType, types.MethodType)):
            raise TypeError(f"captures stands above {function!r}, which is more than a function")

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with torch._dynamo.config.patch(**settings):
                return function(*args, **kwargs)

        torch._dynamo.eval_frame.skip_code(run.__code__)  # settings are made outside of what is compiled
        return run

    return decorate


def operator(*changed: str) -> Callable[[F], Any]:
    """Make a function one operator of the graph, which runs uncompiled and changes these of its parameters in place.

    Its name holds a checksum of the file's path: two files may be loaded under one name.
    """

    def decorate(function: F) -> Any:
        file = function.__globals__.get("__file__") or function.__code__.co_filename
        module = re.sub(r"\W", "_", function.__module__, flags=re.ASCII)
        name = f"graphmend_{module}_{zlib.crc32(file.encode())}::{function.__name__}"
        unsafe = getattr(torch.Tag, "cudagraph_unsafe", None)
        tags = {} if unsafe is None else {"tags": unsafe}
        return torch.library.custom_op(name, mutates_args=changed, **tags)(function)

    return decorate


def all_rows(chosen: torch.Tensor) -> torch.Tensor:
    """The numbers of all rows; one that is not chosen counts from the end, so that it is negative."""
    numbers = torch.arange(len(chosen), device=chosen.device)
    return torch.where(chosen.reshape(len(chosen)), numbers, numbers - len(numbers))


def chosen_rows(rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """The rows of these numbers; zeros for one that is not chosen, so that nothing comes from it or goes back to it."""
    return rows.masked_fill((numbers < 0).reshape(-1, *[1] * (rows.dim() - 1)), 0)
