"""What values are, taken down the moment they are there and joined over all times: classes, sizes and memory, never contents.

Nothing of the program is called and nothing is computed: no `__len__`, `__repr__` or `__getattr__` of its classes runs, no tensor
is read, and no value is kept. What cannot be told so is not known. Imports torch; for a child that ends soon.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .wire import FactData, TensorData

MOST_ITEMS = 8
"""A container with at most so many items is told item by item."""
MOST_LOOKED = 32
"""Of a container with more items than this none is looked at."""
DEPTH = 3
"""How many containers deep items are looked at."""
MOST_TEXT = 40
"""Characters that a string may have to be told."""
MOST_CLASSES = 8
MOST_LENGTHS = 16
MOST_GROUPS = 400
"""Groups of values of one function that share memory; with more of them nothing is said of its memory."""
MOST_SAMPLES = 4
"""Calls of a function of which the shapes are kept one by one."""

_VARIED = object()
_PLAIN = {type(None): "None", bool: "bool", int: "int", float: "float", complex: "complex", str: "str"}
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.BuiltinMethodType)
_TENSOR_LISTS = ("dtypes", "ranks", "gradients", "devices", "layouts", "contiguous")


def kind_of_type(cls: type) -> str:
    """The kind of the values of a class (`graphmend_lsp.values.Kind`)."""
    if cls in _PLAIN:
        return _PLAIN[cls]
    if issubclass(cls, torch.Tensor):
        return "tensor"
    if issubclass(cls, torch.nn.Module):
        return "module"
    if "__dataclass_fields__" in _names(cls):
        return "dataclass"
    if issubclass(cls, tuple):
        return "namedtuple" if "_fields" in _names(cls) else "tuple"
    for base, kind in ((list, "list"), (dict, "dict"), ((set, frozenset), "set"), (type, "class"), (str, "str")):
        if issubclass(cls, base):
            return kind
    return "function" if issubclass(cls, _FUNCTIONS) else "other"


def _names(cls: type) -> set[str]:
    return {name for base in cls.__mro__ for name in vars(base)}


class Groups:
    """Which places of one function saw the same memory in one call of it."""

    def __init__(self) -> None:
        self.found: dict[frozenset[int], None] = {}
        self.unknown: set[int] = set()
        self.calls = 0

    def leave(self, seen: Iterable[set[int]]) -> None:
        """A call is over; each set are the places that saw one memory."""
        if len(self.found) <= MOST_GROUPS:
            self.found.update((frozenset(places), None) for places in seen if len(places) > 1)

    def of(self, place: int) -> list[int] | None:
        """The numbers of the groups that a place is in; None when not all of its memory is known."""
        if place in self.unknown or len(self.found) > MOST_GROUPS:
            return None
        return [number for number, places in enumerate(self.found) if place in places]


class Frame:
    """One call of a watched function. A reference keeps the mark of each memory from being used for another one."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.number = groups.calls
        groups.calls += 1
        self.seen: dict[int, set[int]] = {}
        self._marks: list[StorageWeakRef] = []

    def see(self, place: int, tensor: torch.Tensor) -> None:
        """A tensor, or one in a container, is at the place."""
        try:
            storage = tensor.untyped_storage()
            mark = storage._cdata
        except Exception:  # one without storage: sparse, of a transform
            self.groups.unknown.add(place)
            return
        if mark not in self.seen:
            self.seen[mark] = set()
            self._marks.append(StorageWeakRef(storage))
        self.seen[mark].add(place)


class Joined:
    """All that one place, or one item of it, has been."""

    __slots__ = (
        "classes", "constant", "element", "items", "kinds", "lengths", "obscure", "samples", "shape", "structure", "tensors",
    )  # fmt: skip

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.classes: set[str] = set()
        self.constant: Any = None  # a tuple of the one value; `_VARIED`
        self.tensors: tuple[set[Any], ...] | None = None
        self.shape: Any = None
        self.samples: dict[int, Any] = {}  # by call, of the first ones
        self.obscure = False  # a tensor of which not all could be told
        self.lengths: set[int] = set()
        self.structure: Any = None
        self.items: list[Joined] = []
        self.element: Joined | None = None

    def take(self, value: Any, place: int, frame: Frame | None, depth: int = DEPTH) -> None:
        """One more value. `frame` is the call that it is seen in; without it nothing is known of its memory."""
        cls = type(value)
        kind = _KINDS.get(cls)
        if kind is None:
            kind = _KINDS[cls] = kind_of_type(cls)
        self.kinds.add(kind)
        if kind in _CONSTANTS and cls in _PLAIN:
            self._take_constant(value)
            return
        self.constant = _VARIED
        if kind == "str":
            return
        self.classes.add(f"{cls.__module__}.{cls.__qualname__}")
        if kind == "tensor":
            self._take_tensor(value, frame.number if frame is not None and depth == DEPTH else MOST_SAMPLES)
            if frame is not None:
                frame.see(place, value)
        elif kind in _READERS:
            self._take_items(kind, value, place, frame, depth)
        elif frame is not None and kind not in ("function", "class"):
            frame.groups.unknown.add(place)

    def _take_constant(self, value: Any) -> None:
        if self.constant is None and _is_plain(value):
            self.constant = (value,)
        elif self.constant is not _VARIED and not _is_same(self.constant, value):
            self.constant = _VARIED

    def _take_tensor(self, tensor: torch.Tensor, call: int) -> None:
        if self.tensors is None:
            self.tensors = tuple(set() for _ in _TENSOR_LISTS)
        try:
            with torch._C.DisableTorchFunction():
                shape = tuple(tensor.shape)
                told = (
                    str(tensor.dtype)[6:], len(shape), tensor.requires_grad, tensor.device.type,
                    str(tensor.layout)[6:], tensor.is_contiguous(),
                )  # fmt: skip
                plain = all(type(size) is int for size in shape)
        except Exception:  # a nested or sparse tensor lacks some of it
            self.obscure = True
            return
        for values, value in zip(self.tensors, told, strict=True):
            values.add(value)
        self.shape = _joined_shape(self.shape, shape if plain else _VARIED)
        if call < MOST_SAMPLES:
            self.samples[call] = shape if plain and self.samples.get(call, shape) == shape else _VARIED

    def _take_items(self, kind: str, value: Any, place: int, frame: Frame | None, depth: int) -> None:
        length = _LENGTHS[kind](value) if kind in _LENGTHS else None
        if length is not None and len(self.lengths) < MOST_LENGTHS:
            self.lengths.add(length)
        parts = _READERS[kind](value) if depth and (length is None or length <= MOST_LOOKED) else None
        if parts is None:
            if frame is not None:
                frame.groups.unknown.add(place)
            self._forget_items()
            return
        values, keys = parts
        structure = (kind, len(values), keys)
        if len(values) > MOST_ITEMS or self.structure not in (None, structure):
            self._forget_structure()
            into = [self.element or Joined()] * len(values)  # of forgotten items the memory still counts
        else:
            if self.structure is None:
                self.structure, self.items = structure, [Joined() for _ in values]
            into = self.items
        for one, item in zip(into, values, strict=True):
            one.take(item, place, frame, depth - 1)

    def _forget_structure(self) -> None:
        """Items are told as one from now on."""
        if self.structure is _VARIED:
            return
        self.structure, self.element = _VARIED, Joined()
        for item in self.items:
            self.element.join(item)
        self.items = []

    def _forget_items(self) -> None:
        """Nothing is said of items any more."""
        self.structure, self.element, self.items = _VARIED, None, []

    def join(self, other: Joined) -> None:
        """What the other was, too."""
        self.kinds |= other.kinds
        self.classes |= other.classes
        self.lengths |= other.lengths
        self.obscure |= other.obscure
        if other.constant is not None and self.constant is None:
            self.constant = other.constant
        elif other.constant is _VARIED or (other.constant and not _is_same(self.constant, other.constant[0])):
            self.constant = _VARIED
        if other.tensors is not None:
            mine = self.tensors or tuple(set() for _ in _TENSOR_LISTS)
            self.tensors = tuple(one | two for one, two in zip(mine, other.tensors, strict=True))
            self.shape = _joined_shape(self.shape, other.shape)
        if other.structure is not None:
            self._forget_items()

    def data(self, storages: Sequence[int] | None = ()) -> FactData:
        """What is known, as plain data; `storages` are the groups of its place."""
        found = FactData(kinds=sorted(self.kinds))
        if self.classes and len(self.classes) <= MOST_CLASSES:
            found["classes"] = sorted(self.classes)
        if self.tensors is not None and not self.obscure and self.tensors[0]:
            told: Any = {name: sorted(values) for name, values in zip(_TENSOR_LISTS, self.tensors, strict=True)}
            tensor: TensorData = told
            if isinstance(self.shape, tuple):
                tensor["shape"] = list(self.shape)
                samples = [(call, list(shape)) for call, shape in self.samples.items() if shape is not _VARIED]
                if samples and None in self.shape:
                    tensor["samples"] = samples
            found["tensor"] = tensor
        if isinstance(self.constant, tuple):
            found["constant"] = list(self.constant)
        if self.lengths:
            found["lengths"] = sorted(self.lengths)
        if isinstance(self.structure, tuple):
            if self.structure[2]:
                found["keys"] = list(self.structure[2])
            if self.items:
                found["items"] = [item.data() for item in self.items]
        elif self.element is not None and self.element.kinds:
            found["element"] = self.element.data()
        if storages is None or storages:
            found["storages"] = None if storages is None else list(storages)
        return found

    def take_unbound(self) -> None:
        """It was a name without a value."""
        self.kinds.add("unbound")
        self.constant = _VARIED


_KINDS: dict[type, str] = {}
_CONSTANTS = frozenset({"None", "bool", "int", "float", "complex", "str"})


def _joined_shape(one: Any, other: Any) -> Any:
    """The sizes that both shapes have; None in place of one that differs. `one` is None where nothing was seen before."""
    if one is None or one == other:
        return other
    if one is _VARIED or other is _VARIED or other is None or len(one) != len(other):
        return _VARIED
    return tuple(mine if mine == its else None for mine, its in zip(one, other, strict=True))


def _is_plain(value: Any) -> bool:
    """Whether the value goes through JSON as it is, and is small."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 1 << 53
    return value is None or (isinstance(value, str) and len(value) <= MOST_TEXT and value.isprintable())


def _is_same(constant: Any, value: Any) -> bool:
    if not isinstance(constant, tuple) or type(constant[0]) is not type(value) or constant[0] != value:
        return False
    return not isinstance(value, float) or math.copysign(1.0, value) == math.copysign(1.0, constant[0])


_LENGTHS: dict[str, Any] = {
    "list": list.__len__, "tuple": tuple.__len__, "namedtuple": tuple.__len__, "dict": dict.__len__,
}  # fmt: skip
_Parts = tuple[Sequence[Any], tuple[str, ...]]


def _listed(value: Any) -> _Parts:
    return list.copy(value), ()


def _tupled(value: Any) -> _Parts:
    return tuple.__getitem__(value, slice(None)), ()


def _named(value: Any) -> _Parts:
    fields = getattr(type(value), "_fields", ())
    items = tuple.__getitem__(value, slice(None))
    fits = isinstance(fields, tuple) and len(fields) == len(items)
    return items, tuple(map(str, fields)) if fits else ()


def _of_dict(value: Any) -> _Parts | None:
    keys = tuple(dict.keys(value))
    return (list(dict.values(value)), keys) if all(type(key) is str for key in keys) else None


def _of_dataclass(value: Any) -> _Parts | None:
    own = object.__getattribute__(value, "__dict__") if "__dict__" in _names(type(value)) else {}
    found: dict[str, Any] = {}
    for field in dataclasses.fields(type(value)):
        slot = next((vars(base)[field.name] for base in type(value).__mro__ if field.name in vars(base)), None)
        if isinstance(slot, types.MemberDescriptorType):
            found[field.name] = slot.__get__(value)
        elif field.name in own:
            found[field.name] = own[field.name]
        else:
            return None
    return list(found.values()), tuple(found)


_READERS: dict[str, Any] = {
    "list": _listed, "tuple": _tupled, "namedtuple": _named, "dict": _of_dict, "dataclass": _of_dataclass,
}  # fmt: skip
