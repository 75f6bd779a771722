"""What a callable leads to: the modules that it runs, and the objects and closures in which it keeps its own state."""

from __future__ import annotations

import contextlib
import functools
import types
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MOST_DEPTH = 4  # steps from the callable: a bound object, its attribute, an item of that ...
SUPPORT = "graphmend_support"  # the module that mended code imports, by its last name: a package may hold it
MOST_THINGS = 10_000  # that are looked at
MOST_ITEMS = 64  # of one container that are looked at
_CODE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


@dataclass(frozen=True)
class Part:
    """A thing that a callable leads to. `name` is the word under which the program has it, or empty.

    `cell` is the closure's cell that holds it. `shared`: the way there is a global name.
    """

    name: str
    thing: Any
    cell: types.CellType | None = None
    shared: bool = False


@dataclass(frozen=True)
class Parts:
    """What a callable runs and changes. `modules` are the outermost `nn.Module`s by name, without torch.compile's wrappers.

    `held` are the objects that it is bound to and the cells of its closures by name: what it keeps beside modules and globals.
    """

    modules: Mapping[str, Any]
    held: Mapping[str, Any]


def parts_of(function: Any) -> Iterator[Any]:
    """The `nn.Module`s that the callable is, holds or reaches by closure, binding, attribute or global; outermost ones only."""
    import torch

    return (one.thing for one in _reached(function) if isinstance(one.thing, torch.nn.Module))


def find_parts(function: Any) -> Parts:
    """What the callable runs, by name, and where it keeps state of its own."""
    import torch

    modules: dict[str, Any] = {}
    held: dict[str, Any] = {}
    for one in _reached(function):
        if isinstance(one.thing, torch.nn.Module):
            inner = getattr(one.thing, "_orig_mod", None)
            module = inner if isinstance(inner, torch.nn.Module) else one.thing
            if not any(module is known for known in modules.values()):
                modules[_free(one.name or "model", modules)] = module
        elif not one.shared and (one.cell is not None or _is_object(one.thing)):
            held[_free(one.name or "self", held)] = one.thing if one.cell is None else one.cell
    return Parts(modules, held)


def cells_of(function: Any) -> list[Any]:
    """What the function's closure holds; cells that are still empty are left out."""
    return [content for _, _, content in _cells(function)]


def _free(name: str, taken: Mapping[str, Any]) -> str:
    return name if name not in taken else f"{name}{len(taken)}"


def _reached(function: Any) -> Iterator[Part]:
    """All parts, the nearest first. What is in a module is the module's."""
    import torch

    seen: set[int] = set()
    queue = deque([(Part("", function), 0)])
    while queue and len(seen) < MOST_THINGS:
        part, depth = queue.popleft()
        if id(part.thing) in seen and part.cell is None:
            continue
        known = id(part.thing) in seen
        seen.add(id(part.thing))
        yield part
        if not known and depth <= MOST_DEPTH and not isinstance(part.thing, torch.nn.Module):
            queue.extend((one, depth + 1) for one in _inside(part))


def _inside(part: Part) -> list[Part]:
    """What a thing may lead to: bound object, partial's parts, wrapped function, closure, globals it names, items, attributes."""
    thing, name, shared = part.thing, part.name, part.shared
    if isinstance(thing, functools.partial):
        given = [Part(f"{name}argument", one, None, shared) for one in (*thing.args, *thing.keywords.values())]
        return [Part(name, thing.func, None, shared), *given]
    if isinstance(thing, types.MethodType):
        return [Part(name or "self", thing.__self__, None, shared), Part(name, thing.__func__, None, shared)]
    if isinstance(thing, (list, tuple)):
        return [Part(name, one, None, shared) for one in thing[:MOST_ITEMS]]
    if isinstance(thing, dict):
        return [Part(name, one, None, shared) for one in [*thing.values()][:MOST_ITEMS]]
    if isinstance(thing, types.FunctionType):
        originals = (getattr(thing, word, None) for word in ("_torchdynamo_orig_callable", "__wrapped__"))
        found = [Part(name, one, None, shared) for one in originals if one is not None]
        if _is_a_programs(thing):
            found += [Part(word, content, cell, shared) for word, cell, content in _cells(thing)]
        else:  # what it wraps is the program's
            found += [Part(name, one, None, shared or not isinstance(one, _CODE)) for one in cells_of(thing)]
        named = {word: thing.__globals__[word] for word in thing.__code__.co_names if word in thing.__globals__}
        kinds = (types.ModuleType, type)
        return found + [Part(word, one, None, True) for word, one in named.items() if not isinstance(one, kinds)]
    if _is_object(thing):
        return [Part(word, one, None, shared) for word, one in vars(thing).items() if not isinstance(one, _CODE[:2])]
    return []


def _is_a_programs(function: types.FunctionType) -> bool:
    """Whether a function is neither torch's nor of the support module, whose wrappers a mend may put around it."""
    path = str(function.__globals__.get("__name__")).split(".")
    return path[0] != "torch" and path[-1] != SUPPORT


def _cells(function: Any) -> list[tuple[str, types.CellType, Any]]:
    filled = []
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        with contextlib.suppress(ValueError):  # still empty
            filled.append((name, cell, cell.cell_contents))
    return filled


def _is_object(thing: Any) -> bool:
    """Whether a thing is an object with attributes, and neither code nor torch's own."""
    kind = type(thing)
    return (
        hasattr(thing, "__dict__")
        and not isinstance(thing, _CODE)
        and kind.__module__ != "builtins"
        and not kind.__module__.startswith(("torch._", "logging", "threading"))
        and not any(
            base.__name__ in ("Tensor", "Module") and base.__module__.startswith("torch") for base in kind.__mro__
        )
    )
