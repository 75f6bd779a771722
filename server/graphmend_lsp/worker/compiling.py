"""torch.compile in the worker: always with a cheap backend, never fullgraph, whether the program or we ask for it.

Imports torch; runs in a child process only, before the user's file is loaded, because it replaces `torch.compile`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .parts import cells_of, parts_of

_DROPPED = ("mode", "options", "fullgraph", "backend")


def force_backend(backend: str) -> None:
    """Make every torch.compile of the program use `backend` and go on behind a graph break.

    ``fullgraph=True`` would end the run at the first break, and with it scalars and dynamic shapes are captured; other
    backends only cost time. What the program says of ``dynamic`` and ``disable`` stays.
    """
    import torch
    import torch._dynamo

    original = torch.compile
    optimize = torch._dynamo.optimize

    @functools.wraps(original)
    def compile_cheaply(model: Any = None, **options: Any) -> Any:
        kept = {key: value for key, value in options.items() if key not in _DROPPED}
        set_up_torch()
        return original(model, backend=backend, **kept)

    @functools.wraps(optimize)
    def optimize_cheaply(*args: Any, **options: Any) -> Any:
        rest = args[1:]
        kept = {
            key: value for key, value in options.items() if key not in ("backend", "nopython", "error_on_graph_break")
        }
        set_up_torch()
        return optimize(backend, *rest, **kept)

    torch.compile = compile_cheaply
    torch._dynamo.optimize = optimize_cheaply


@functools.cache
def set_up_torch() -> None:
    """What a process's first torch.compile sets in torch, at the time when the program comes to it.

    Dynamo does it once, here before the program's imports, and these may have set it anew: pyro has distributions validated.
    """
    distributions = sys.modules.get("torch.distributions")
    if distributions is not None:
        distributions.Distribution.set_default_validate_args(False)


def leave_guards_untimed() -> None:
    """Dynamo times the guards of each frame it compiled, with the processor's caches emptied, for a log that nobody reads.

    That takes some 30 ms a frame, much of what a small model takes at all. A torch that does it otherwise stays as it is.
    """
    from torch._dynamo import guards

    if callable(getattr(guards, "profile_guard_manager", None)):
        vars(guards)["profile_guard_manager"] = lambda *_: 0.0


def compiled(function: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """The callable as it runs compiled: as it is when the program compiles it, or a part of it, itself.

    A function that only *calls* compiled ones is left as it is, because the user does not compile what is around them.
    """
    import torch

    if compiles_itself(function):
        return function
    result: Callable[..., Any] = torch.compile(function, backend=backend)
    return result


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The callable itself where it is an already compiled one."""
    inner = getattr(function, "_orig_mod", None) or getattr(function, "_torchdynamo_orig_callable", None)
    return uncompiled(inner) if callable(inner) else function


def without_compiling(function: Callable[..., Any]) -> AbstractContextManager[None]:
    """While it lasts, what the program compiles itself runs uncompiled too. Elsewhere torch.compile is as it is.

    torch.cond, which compiles what it is given, needs Dynamo for gradients.
    """
    import torch

    if compiles_itself(function):
        stance: AbstractContextManager[None] = torch.compiler.set_stance("force_eager")
        return stance
    return nullcontext()


def compiles_itself(function: Callable[..., Any]) -> bool:
    """Whether the program has asked for torch.compile: of this callable, of a part, or of what it calls by name."""
    if _is_compiled(function):
        return True
    if any(_is_compiled(part) or any(map(_is_compiled, part.modules())) for part in parts_of(function)):
        return True
    code, names = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    called = [names[name] for name in code.co_names if name in names] if code is not None else []
    return any(map(_is_compiled, [*cells_of(function), *called]))


def _is_compiled(thing: Any) -> bool:
    import torch

    if isinstance(thing, torch.nn.Module):
        forward = getattr(type(thing), "forward", None)
        own = vars(thing)
        compiled_call = own.get("_compiled_call_impl") is not None
        return "_orig_mod" in own.get("_modules", {}) or compiled_call or _has_original(forward)
    return _has_original(thing) or _has_original(getattr(thing, "__func__", None))


def _has_original(thing: Any) -> bool:
    # torch.compiler.disable() leaves the same mark; only a compiled function runs under a compiling context
    if thing is None or isinstance(thing, type) or not hasattr(thing, "_torchdynamo_orig_callable"):
        return False
    return not getattr(thing, "_torchdynamo_disable", False)
