"""What values *were* in a run: facts of expressions, names and functions, joined over all calls that were watched.

Frozen data and questions to it: no IO, no torch. A fact tells of the calls that were made, never of others: who rests on one says
so, and the verdict's run proves the result. Nothing known is None, and that is always a safe answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, TypeVar

from graphmend_lsp.model import Position, Span

Kind = Literal[
    "tensor", "bool", "int", "float", "complex", "None", "str", "module", "list", "tuple", "namedtuple", "dict", "set",
    "dataclass", "function", "class", "other", "unbound",
]  # fmt: skip
"""``unbound`` is a name without a value; a `torch.Size` is a ``tuple``; a parameter of a module is a ``tensor``."""

T = TypeVar("T")
K = TypeVar("K")

Constant = bool | int | float | str | None

_NUMBERS = frozenset({"bool", "int", "float"})
_PLAIN = _NUMBERS | {"None", "str"}
_STORELESS = frozenset({"bool", "int", "float", "complex", "None", "str", "unbound"})


@dataclass(frozen=True, slots=True)
class TensorFact:
    """What was seen of tensors at one place; each tuple holds the different values, sorted.

    `shape` are the sizes that all had, None in place of those that differed; None where the ranks differed. `dtypes` are names
    without ``torch.``; `devices` are types (``cuda``). `samples` are the shapes in some calls of the function, by the call's
    number, which is the same for all values of the function; told where a size differed.
    """

    dtypes: tuple[str, ...]
    ranks: tuple[int, ...]
    shape: tuple[int | None, ...] | None
    gradients: tuple[bool, ...]  # whether `requires_grad`
    devices: tuple[str, ...]
    layouts: tuple[str, ...]
    contiguous: tuple[bool, ...]
    samples: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def joined(self, other: TensorFact) -> TensorFact:
        """What was seen here or there."""
        return TensorFact(
            _both(self.dtypes, other.dtypes),
            _both(self.ranks, other.ranks),
            _joined_shape(self.shape, other.shape),
            _both(self.gradients, other.gradients),
            _both(self.devices, other.devices),
            _both(self.layouts, other.layouts),
            _both(self.contiguous, other.contiguous),
            _joined_samples(self.samples, other.samples),
        )


@dataclass(frozen=True, slots=True)
class ValueFact:
    """What one expression gave, over all times that it was evaluated.

    `kinds` and `classes` (``package.module.Class``) are what it was, sorted. `tensor` tells of those that were tensors.
    `constant` holds the one number, flag, string or None that it always was; empty when it was not always the same, or no such
    thing, or long. Of containers: `lengths`; `items` in order (of a dict, dataclass or named tuple under `keys`), when all
    had one structure; else `element` is all items as one. `storages` are the groups of values of one function that shared
    memory in one call of it, with those of tensors in containers; None when not known of all.
    """

    kinds: tuple[Kind, ...]
    classes: tuple[str, ...] = ()
    tensor: TensorFact | None = None
    constant: tuple[Constant, ...] = ()
    lengths: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    items: tuple[ValueFact, ...] = ()
    element: ValueFact | None = None
    storages: frozenset[int] | None = frozenset()

    @property
    def is_tensor(self) -> bool:
        """Whether it was a tensor every time."""
        return self.kinds == ("tensor",)

    @property
    def is_number(self) -> bool:
        """Whether it was a Python number or flag every time."""
        return _NUMBERS.issuperset(self.kinds)

    @property
    def is_bool(self) -> bool:
        """Whether it was True or False every time."""
        return self.kinds == ("bool",)

    @property
    def is_plain(self) -> bool:
        """Whether it was a number, a flag, a string or None every time."""
        return _PLAIN.issuperset(self.kinds)

    @property
    def is_none(self) -> bool:
        """Whether it was None every time."""
        return self.kinds == ("None",)

    @property
    def was_unbound(self) -> bool:
        """Whether it was a name without a value at some time."""
        return "unbound" in self.kinds

    @property
    def same_in_every_call(self) -> bool:
        """Whether it was always one and the same number, flag, string or None."""
        return bool(self.constant)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, when it was a tensor with the same number every time."""
        return self.tensor.ranks[0] if self.is_tensor and self.tensor and len(self.tensor.ranks) == 1 else None

    @property
    def dtype(self) -> str | None:
        """The dtype's name, when it was a tensor of the same dtype every time."""
        return self.tensor.dtypes[0] if self.is_tensor and self.tensor and len(self.tensor.dtypes) == 1 else None

    @property
    def length(self) -> int | None:
        """The number of items, when it was a container with the same number every time."""
        return self.lengths[0] if len(self.lengths) == 1 else None

    def shares_storage_with(self, other: ValueFact) -> bool | None:
        """Whether both were seen to share memory in one call of their function, the same or nested; None when not known."""
        if _STORELESS.issuperset(self.kinds) or _STORELESS.issuperset(other.kinds):
            return False
        if self.storages is None or other.storages is None:
            return None
        return not self.storages.isdisjoint(other.storages)

    def joined(self, other: ValueFact) -> ValueFact:
        """What was seen here or there."""
        alike = len(self.items) == len(other.items) and self.keys == other.keys and self.lengths == other.lengths
        items = tuple(one.joined(two) for one, two in zip(self.items, other.items, strict=True)) if alike else ()
        storages = None if self.storages is None or other.storages is None else self.storages | other.storages
        return ValueFact(
            _both(self.kinds, other.kinds),
            _both(self.classes, other.classes),
            _maybe(self.tensor, other.tensor, TensorFact.joined),
            self.constant if _same(self.constant, other.constant) else (),
            _both(self.lengths, other.lengths),
            self.keys if alike else (),
            items,
            None if items else _maybe(self._any_item(), other._any_item(), ValueFact.joined),
            storages,
        )

    def _any_item(self) -> ValueFact | None:
        return reduce(ValueFact.joined, self.items) if self.items else self.element

    def data(self) -> dict[str, Any]:
        """As plain data of JSON (`FactData` of the wire); what is empty is left out."""
        found: dict[str, Any] = {"kinds": list(self.kinds)}
        found |= {name: list(value) for name in _LISTS if (value := getattr(self, name))}
        if self.tensor is not None:
            found["tensor"] = {name: list(getattr(self.tensor, name)) for name in _TENSOR_LISTS}
            if self.tensor.shape is not None:
                found["tensor"]["shape"] = list(self.tensor.shape)
            if self.tensor.samples:
                found["tensor"]["samples"] = [[call, list(shape)] for call, shape in self.tensor.samples]
        if self.items:
            found["items"] = [item.data() for item in self.items]
        if self.element is not None:
            found["element"] = self.element.data()
        if self.storages is None or self.storages:
            found["storages"] = None if self.storages is None else sorted(self.storages)
        return found

    @staticmethod
    def of(data: Mapping[str, Any], apart: int = 0) -> ValueFact:
        """From plain data. `apart` is added to the numbers of storages and calls, to keep those of several runs apart."""
        tensor = data.get("tensor")
        groups = data.get("storages", ())
        return ValueFact(
            **{name: tuple(data.get(name, ())) for name in ("kinds", *_LISTS)},
            tensor=tensor and _tensor_of(tensor, apart),
            items=tuple(ValueFact.of(item, apart) for item in data.get("items", ())),
            element=ValueFact.of(data["element"], apart) if data.get("element") else None,
            storages=None if groups is None else frozenset(apart + number for number in groups),
        )


_LISTS = ("classes", "constant", "lengths", "keys")
_TENSOR_LISTS = ("dtypes", "ranks", "gradients", "devices", "layouts", "contiguous")


@dataclass(frozen=True, slots=True)
class Caller:
    """From where a function was entered: `line` (1-based) of `path`, in `function`, how many times."""

    path: str
    line: int
    function: str
    times: int


@dataclass(frozen=True, slots=True)
class FunctionFact:
    """How often a function was entered, and left by an exception, and from where; `line` is its ``def``'s (1-based)."""

    line: int
    name: str
    entered: int
    raised: int
    callers: tuple[Caller, ...]

    def joined(self, other: FunctionFact) -> FunctionFact:
        """Both runs together."""
        times: dict[tuple[str, int, str], int] = {}
        for one in (*self.callers, *other.callers):
            key = (one.path, one.line, one.function)
            times[key] = times.get(key, 0) + one.times
        callers = tuple(Caller(*key, count) for key, count in times.items())
        return FunctionFact(self.line, self.name, self.entered + other.entered, self.raised + other.raised, callers)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts of one file, whose text was `text`.

    `values` are by the exact span of an expression; the span of a target (``y`` in ``y = ...``, a parameter) tells what was
    bound there. `before` are by the start of a compound statement and a name that the statement may bind: what it was before.
    `functions` are by the line of the ``def``.
    """

    text: str
    values: Mapping[Span, ValueFact] = field(default_factory=dict)
    before: Mapping[tuple[Position, str], ValueFact] = field(default_factory=dict)
    functions: Mapping[int, FunctionFact] = field(default_factory=dict)

    def joined(self, other: FileFacts) -> FileFacts:
        """Facts of two runs of one text; of a function that only one run entered they are that run's."""
        return FileFacts(
            self.text,
            _merged(self.values, other.values, ValueFact.joined),
            _merged(self.before, other.before, ValueFact.joined),
            _merged(self.functions, other.functions, FunctionFact.joined),
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts by file, for the texts that were run; a text that was changed since has none."""

    files: Mapping[str, FileFacts] = field(default_factory=dict)

    def of(self, path: str, text: str) -> FileFacts | None:
        """The facts of a file that reads `text`."""
        found = self.files.get(path)
        return found if found is not None and found.text == text else None

    def at(self, path: str, span: Span) -> ValueFact | None:
        """What the expression at exactly this span of the text that was run gave."""
        found = self.files.get(path)
        return found.values.get(span) if found is not None else None

    def only(self, paths: Iterable[str]) -> Facts:
        """Those of some files."""
        return Facts({path: self.files[path] for path in paths if path in self.files})

    def joined(self, other: Facts) -> Facts:
        """Facts of several runs; of two texts of one file the first's."""
        files = dict(self.files)
        for path, found in other.files.items():
            known = files.get(path)
            files[path] = found if known is None else known.joined(found) if known.text == found.text else known
        return Facts(files)


NOTHING = Facts()


def _tensor_of(data: Mapping[str, Any], apart: int) -> TensorFact:
    lists = {name: tuple(data[name]) for name in _TENSOR_LISTS}
    samples = tuple((apart + call, tuple(shape)) for call, shape in data.get("samples", ()))
    return TensorFact(**lists, shape=tuple(data["shape"]) if "shape" in data else None, samples=samples)


def _joined_samples(
    one: tuple[tuple[int, tuple[int, ...]], ...], other: tuple[tuple[int, tuple[int, ...]], ...]
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The shapes by call; of a call with two shapes none."""
    if not one or not other:
        return one or other
    mine, its = dict(one), dict(other)
    return tuple(
        sorted(
            (call, shape) for call, shape in {**mine, **its}.items() if mine.get(call, shape) == its.get(call, shape)
        )
    )


def _both(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    return one if one == other else tuple(sorted({*one, *other}))  # type: ignore[type-var]


def _joined_shape(
    one: tuple[int | None, ...] | None, other: tuple[int | None, ...] | None
) -> tuple[int | None, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(mine if mine == its else None for mine, its in zip(one, other, strict=True))


def _maybe(one: T | None, other: T | None, join: Callable[[T, T], T]) -> T | None:
    return join(one, other) if one is not None and other is not None else one if other is None else other


def _merged(one: Mapping[K, T], other: Mapping[K, T], join: Callable[[T, T], T]) -> dict[K, T]:
    found = {**other, **one}
    return found | {key: join(one[key], other[key]) for key in one.keys() & other.keys()}


def _same(one: tuple[Constant, ...], other: tuple[Constant, ...]) -> bool:
    """Whether two constants are the same value of the same type; 0.0 is not -0.0."""
    if len(one) != 1 or one != other or type(one[0]) is not type(other[0]):
        return False
    first, second = one[0], other[0]
    signed = isinstance(first, float) and isinstance(second, float)
    return not signed or math.copysign(1.0, first) == math.copysign(1.0, second)  # type: ignore[arg-type]
