"""What a callable leads to: the modules that it runs, wherever it holds them."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def parts_of(function: Any) -> Iterator[Any]:
    """The `nn.Module`s that the callable is, holds or reaches by closure, binding or global; outermost ones only."""
    import torch

    seen: set[int] = set()
    queue: list[tuple[Any, int]] = [(function, 0)]
    while queue:
        thing, depth = queue.pop(0)
        if id(thing) in seen or depth > 4:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.nn.Module):
            yield thing
            continue
        queue += [(held, depth + 1) for held in _held(thing)]


def _held(thing: Any) -> list[Any]:
    """What a callable may lead to: bound object, partial's parts, wrapped function, closure cells, globals it names."""
    if isinstance(thing, functools.partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if isinstance(thing, types.MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, (list, tuple)):
        return list(thing[:64])
    if isinstance(thing, dict):
        return list(thing.values())[:64]
    if isinstance(thing, types.FunctionType):
        held: list[Any] = [original] if (original := getattr(thing, "_torchdynamo_orig_callable", None)) else []
        held += [thing.__wrapped__] if hasattr(thing, "__wrapped__") else []
        held += cells_of(thing)
        named = (thing.__globals__.get(name) for name in thing.__code__.co_names)
        return held + [item for item in named if not isinstance(item, (ModuleType, type))]
    if callable(thing) and not isinstance(thing, (type, ModuleType)) and hasattr(thing, "__dict__"):
        return [item for item in vars(thing).values() if callable(item)]
    return []


def cells_of(function: Any) -> list[Any]:
    """What the function's closure holds; cells that are still empty are left out."""
    filled = []
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            filled.append(cell.cell_contents)
    return filled
