"""Invented values as plain data: what is drawn, of which shape, so that a value can be described, sent and drawn again."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["normal", "ids", "ones", "zeros", "mask", "boxes", "order", "spread"]
FLOATS: tuple[Kind, ...] = ("normal", "spread")
LEAST_ID = 5  # ids below are often padding, beginning and end


@dataclass(frozen=True)
class Drawn:
    """A tensor to be drawn. Kinds: ``normal`` numbers, ``spread`` ones in [0, 1), ``ids`` below `high`, ``ones`` and ``zeros``
    and ``order`` (0, 1, 2 ...) as integers, ``mask`` all true, ``boxes`` four integers in order.

    `placed` are ids that stand at the beginning of each row, each with how often; `avoided` are ids that are not drawn.
    """

    kind: Kind
    shape: tuple[int, ...]
    high: int = 0
    placed: tuple[tuple[int, int], ...] = ()
    avoided: tuple[int, ...] = ()

    @property
    def is_float(self) -> bool:
        """Whether its numbers are floating point."""
        return self.kind in FLOATS

    def shaped(self, shape: tuple[int, ...]) -> Drawn:
        """The same of another shape."""
        return replace(self, shape=shape)


@dataclass(frozen=True)
class Made:
    """A container or an object around drawn values: ``list``, ``tuple``, ``dict`` (items are pairs)."""

    kind: Literal["list", "tuple", "dict"]
    items: tuple[Any, ...]


@dataclass(frozen=True)
class New:
    """An object of the program's own class (or of a library's), made by calling it with these arguments."""

    factory: Any
    items: tuple[tuple[str, Any], ...]

    def given(self, **more: Any) -> New:
        """The same with other or more arguments."""
        return New(self.factory, tuple({**dict(self.items), **more}.items()))


def draw(value: Any) -> Any:
    """The value itself, from the random generator as it stands."""
    if isinstance(value, Drawn):
        return _tensor(value)
    if isinstance(value, Made):
        if value.kind == "dict":
            return {key: draw(item) for key, item in value.items}
        items = [draw(item) for item in value.items]
        return items if value.kind == "list" else tuple(items)
    if isinstance(value, New):
        return value.factory(**{name: draw(item) for name, item in value.items})
    return value


def describe(value: Any) -> str:
    """A value in a word or two, as one would write it in Python."""
    if isinstance(value, Drawn):
        size = ", ".join(map(str, value.shape))
        if value.kind == "ids":
            return f"torch.randint(0, {max(value.high, 1)}, ({size}{',' if len(value.shape) == 1 else ''}))"
        if value.kind == "mask":
            return f"torch.ones({size}, dtype=torch.bool)"
        if value.kind in FLOATS:
            return f"torch.{'randn' if value.kind == 'normal' else 'rand'}({size})"
        name = "ones" if value.kind in ("ones", "order", "boxes") else "zeros"
        return f"torch.{name}({size}, dtype=torch.long)"
    if isinstance(value, Made):
        if value.kind == "dict":
            return "{" + ", ".join(f"{key!r}: {describe(item)}" for key, item in value.items) + "}"
        inner = ", ".join(describe(item) for item in value.items)
        return f"[{inner}]" if value.kind == "list" else f"({inner}{',' if len(value.items) == 1 else ''})"
    if isinstance(value, New):
        return f"{_named(value.factory)}({', '.join(f'{name}={describe(item)}' for name, item in value.items)})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return _named(value) if hasattr(value, "__name__") else repr(value)


def _named(value: Any) -> str:
    """A class or function as a program with ``import torch`` names it."""
    home = str(getattr(value, "__module__", ""))
    homes = {"torch": "torch.", "torch.nn.functional": "torch.nn.functional."}
    return homes.get(home, "torch.nn." if home.startswith("torch.nn.modules.") else "") + str(value.__name__)


def _tensor(value: Drawn) -> Any:
    import torch

    shape = value.shape
    if value.kind == "normal":
        return torch.randn(shape)
    if value.kind == "spread":
        return torch.rand(shape)
    if value.kind == "mask":
        return torch.ones(shape, dtype=torch.bool)
    if value.kind == "order":
        last = shape[-1] if shape else 1
        return torch.arange(last).expand(shape).clone()
    if value.kind == "boxes":
        corners = torch.randint(0, 400, shape).sort(-1).values
        return corners + torch.arange(shape[-1])
    if value.kind == "ids":
        return _ids(value)
    return (torch.ones if value.kind == "ones" else torch.zeros)(shape, dtype=torch.long)


def _ids(value: Drawn) -> Any:
    import torch

    high = max(value.high, 1)
    low = LEAST_ID if high > 2 * LEAST_ID else 0
    drawn = torch.randint(low, high, value.shape)
    for unwanted in value.avoided:
        drawn = torch.where(drawn == unwanted, torch.full_like(drawn, low), drawn)
    at = 1 if value.shape and value.shape[-1] > sum(count for _, count in value.placed) else 0
    for token, count in value.placed:
        drawn[..., at : at + count] = token
        at += count
    return drawn
