"""Any value of a running program, taken down as data that another process can compare.

A `Snapshot` maps paths (``[0].logits``, ``.layer.weight``) to leaves. Tensor contents live once in a store by digest,
so that unchanged weights cost their hash, not their bytes. Nothing here runs user code on purpose, except `repr` of
objects that have nothing better; nothing raises: what cannot be read is taken down as its type.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import enum
import hashlib
import io
import re
import types
from collections import deque
from collections.abc import Mapping
from typing import Any

import torch

from .blobs import Blobs

MAX_NODES = 20_000
MAX_DEPTH = 12
MAX_TEXT = 2_000
KEPT_BYTES = (
    64 << 20
)  # contents of larger tensors are compared by digest only; one that nobody wrote to is not read again

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
TEXTS = frozenset((type(None), bool, int, str))
_PLAIN = (
    type(None),
    bool,
    int,
    str,
    bytes,
    type(Ellipsis),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
)
_ORDINARY = (torch.Tensor, torch.nn.Parameter)
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)


@dataclasses.dataclass(frozen=True)
class Leaf:
    """One thing at one path. `text` is compared as words; `digest` names the tensor's bytes, `number` a float's value.

    `dtype` and `shape` say how to read the bytes again. A leaf with neither digest nor number is equal when its text
    is.
    """

    text: str
    digest: str = ""
    dtype: torch.dtype | None = None
    shape: tuple[int, ...] = ()
    number: float | None = None


Snapshot = dict[str, Leaf]


class Store:
    """Tensor contents by digest, and what is known of tensors and plain values that were already read.

    The contents go into a file of the `folder`, where one is given.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.blobs = Blobs(folder)
        self._lasting: dict[int, tuple[bytes, Leaf]] = {}
        self._large: dict[int, tuple[tuple[Any, ...], str]] = {}
        self._plain: dict[tuple[type, Any], Leaf] = {}
        self._last: dict[str, Snapshot] = {}

    def keep(self, tensor: torch.Tensor) -> str:
        """The digest of a plain strided tensor's bytes, which are kept unless they are too many."""
        raw = raw_bytes(tensor)
        # Twice as fast as blake2b where the CPU has instructions for it. What is told apart is no attack.
        digest = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        if len(raw) <= KEPT_BYTES:
            self.blobs.keep(digest, raw)
        return digest

    def lasting(self, tensor: torch.Tensor) -> Leaf:
        """The leaf of a parameter or a buffer, which is read after every call: where its bytes are the same, so is the leaf."""
        if type(tensor) not in _ORDINARY or tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
            return _tensor(tensor, self)
        if tensor.numel() * tensor.element_size() > KEPT_BYTES:
            return Leaf(_words(tensor), self._keep_large(tensor), tensor.dtype, tuple(tensor.shape))
        try:
            raw, words = raw_bytes(tensor), _words(tensor)
        except Exception:  # one that a transform of functorch left behind
            return _tensor(tensor, self)
        known = self._lasting.get(id(tensor))
        if known is not None and known[0] == raw and known[1].text == words:
            return known[1]
        leaf = _tensor(tensor, self)
        self._lasting[id(tensor)] = (raw, leaf)
        return leaf

    def plain(self, value: str | int | bool | None) -> Leaf:
        """The leaf of a value that is its text."""
        key = (type(value), value)
        leaf = self._plain.get(key)
        if leaf is None:
            leaf = self._plain[key] = Leaf(f"{type_name(value)} {normalise(repr(value))}")
        return leaf

    def once(self, what: str, found: Snapshot) -> Snapshot:
        """The snapshot, or the last one of what it is of where that is equal: what many calls leave alone is kept once."""
        if self._last.get(what) != found:
            self._last[what] = found
        return self._last[what]

    def _keep_large(self, tensor: torch.Tensor) -> str:
        mark = (tensor.data_ptr(), _version(tensor), tensor.shape, tensor.dtype, _sample(tensor))
        known = self._large.get(id(tensor))
        if known is None or known[0] != mark:
            known = self._large[id(tensor)] = (mark, self.keep(tensor))
        return known[1]


def take(value: Any, store: Store, path: str = "") -> Snapshot:
    """Everything reachable from `value` through containers and plain objects, by path."""
    out: Snapshot = {}
    _Walk(out, store).visit(value, path, 0)
    return out


def take_into(out: Snapshot, value: Any, store: Store, path: str, seen: dict[int, str]) -> None:
    """Like `take`, into a snapshot that several roots share; `seen` holds the objects that were visited and where."""
    _Walk(out, store, seen).visit(value, path, 0)


def tensors_of(value: Any) -> list[tuple[str, torch.Tensor]]:
    """All tensors reachable from a value, as (path, tensor), each object once, in a fixed order."""
    return [(path, found) for path, found in _collect(value, torch.Tensor)]


def modules_of(value: Any) -> list[tuple[str, torch.nn.Module]]:
    """The outermost modules reachable from a value through containers and plain objects, by path."""
    return [(path, found) for path, found in _collect(value, torch.nn.Module)]


def normalise(text: str) -> str:
    """Text without object addresses, cut to a bearable length (the rest stands in as its hash)."""
    text = _ADDRESS.sub("0x…", text)
    if len(text) <= MAX_TEXT:
        return text
    rest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{text[:MAX_TEXT]}… ({len(text)} characters, {rest})"


def type_name(value: Any) -> str:
    """A type's name as users know it: without ``builtins`` and ``torch``'s inner modules."""
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ in ("builtins", "torch") or kind.__module__.startswith("torch.nn"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """The bytes of a strided tensor in logical order, wherever and however it lies."""
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    size = plain.numel() * plain.element_size()
    return ctypes.string_at(plain.data_ptr(), size) if size else b""


def read_back(leaf: Leaf, blobs: Mapping[str, bytes]) -> torch.Tensor | None:
    """The tensor of a leaf, None when its bytes were not kept or have no plain form."""
    raw = blobs.get(leaf.digest)
    if raw is None or leaf.dtype is None:
        return None
    if not raw:
        return torch.empty(leaf.shape, dtype=leaf.dtype)
    return torch.frombuffer(bytearray(raw), dtype=leaf.dtype).reshape(leaf.shape)


def items_of(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container or plain object with their path suffixes; None when it has none to look into."""
    if isinstance(value, Mapping):
        return [(f"[{_key(key)}]", part) for key, part in list(value.items())]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", part) for name, part in zip(value._fields, value, strict=False)]
    if isinstance(value, (list, tuple, deque)):
        return [(f"[{index}]", part) for index, part in enumerate(list(value))]
    if isinstance(value, (set, frozenset)):
        return [(f"{{{index}}}", part) for index, part in enumerate(sorted(value, key=repr))]
    if isinstance(value, (*_PLAIN, float, complex, *_NAMED, enum.Enum, torch.Tensor, torch.nn.Module)):
        return None
    if type(value).__module__.startswith(
        "torch._dynamo."
    ):  # what torch.compile keeps for itself, with addresses of objects
        return None
    names = dict(vars(value)) if hasattr(value, "__dict__") else {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                names.setdefault(slot, getattr(value, slot))
    return [(f".{name}", part) for name, part in names.items()] or None


class _Walk:
    def __init__(self, out: Snapshot, store: Store, seen: dict[int, str] | None = None) -> None:
        self.out = out
        self.store = store
        self.seen = {} if seen is None else seen
        self.alive: list[Any] = []

    def visit(self, value: Any, path: str, depth: int) -> None:
        if len(self.out) >= MAX_NODES:
            self.out["…"] = Leaf("too much to compare")
            return
        try:
            self._visit(value, path, depth)
        except Exception as error:  # a broken __getattr__, __iter__ or __repr__ of a user's class
            self.out[path] = Leaf(f"{type_name(value)} that cannot be read ({type(error).__name__})")

    def _visit(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, torch.Tensor):
            self.out[path] = _tensor(value, self.store)
            return
        if type(value) in TEXTS:
            self.out[path] = self.store.plain(value)
            return
        if isinstance(value, float):
            self.out[path] = Leaf(type_name(value), number=float(value))
            return
        if isinstance(value, (*_PLAIN, complex, enum.Enum)):
            self.out[path] = Leaf(f"{type_name(value)} {normalise(repr(value))}")
            return
        if isinstance(value, _NAMED):
            self.out[path] = Leaf(
                f"{type_name(value)} {getattr(value, '__qualname__', getattr(value, '__name__', ''))}"
            )
            return
        if isinstance(value, torch.nn.Module):
            self.out[path] = Leaf(f"module {type_name(value)}")
            return
        if isinstance(value, torch.Generator):
            self.out[path] = Leaf(
                f"Generator {hashlib.sha1(raw_bytes(value.get_state()), usedforsecurity=False).hexdigest()}"
            )
            return
        if isinstance(value, (io.StringIO, io.BytesIO)) and not value.closed:
            self.out[path] = Leaf(f"{type_name(value)} {normalise(repr(value.getvalue()))}")
            return
        array = _as_tensor(value)
        if array is not None:
            leaf = _tensor(array, self.store)
            self.out[path] = dataclasses.replace(leaf, text=f"{type_name(value)} {leaf.text}")
            return
        first = self.seen.setdefault(id(value), path)
        if first != path:
            self.out[path] = Leaf(f"{type_name(value)}, the same object as {first}")
            return
        self.alive.append(value)  # an id is good only while its object lives
        parts = items_of(value)
        if parts is None or depth >= MAX_DEPTH:
            self.out[path] = Leaf(f"{type_name(value)} {'' if parts else normalise(repr(value))}".strip())
            return
        size = f" of {len(parts)}" if isinstance(value, (list, tuple, set, frozenset, deque)) else ""
        order = f" {[suffix for suffix, _ in parts]}" if isinstance(value, Mapping) else ""
        self.out[path] = Leaf(f"{type_name(value)}{size}{normalise(order)}")
        for suffix, part in parts:
            self.visit(part, path + suffix, depth + 1)


def _tensor(tensor: torch.Tensor, store: Store) -> Leaf:
    words = _words(tensor)
    try:
        detached = tensor.detach()
        if detached.device.type == "meta":
            return Leaf(f"{words} without data")
        if detached.is_quantized:
            return Leaf(f"{words} {normalise(repr(detached.q_scale()))}", store.keep(detached.int_repr()))
        if detached.layout != torch.strided:
            detached, words = detached.to_dense(), f"{words} {tensor.layout}"
        return Leaf(words, store.keep(detached), detached.dtype, tuple(detached.shape))
    except Exception:  # nested, functorch-wrapped or otherwise unreadable tensors: words are all there is
        return Leaf(f"{words} {normalise(_safe_repr(tensor))}")


def _words(tensor: torch.Tensor) -> str:
    kind = type_name(tensor)
    words = f"{kind} {str(tensor.dtype).removeprefix('torch.')}{tuple(tensor.shape)} {tensor.device.type}"
    return f"{words} requires_grad" if tensor.requires_grad else words


def _as_tensor(value: Any) -> torch.Tensor | None:
    """A numpy array or scalar as a tensor, without importing numpy."""
    if type(value).__module__.split(".")[0] != "numpy" or not hasattr(value, "dtype") or not hasattr(value, "tobytes"):
        return None
    try:
        return torch.as_tensor(value.copy())
    except Exception:
        return None


def _collect(value: Any, kind: type[Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    seen: dict[int, Any] = {}  # holds the objects, so that no id is used twice

    def visit(value: Any, path: str, depth: int) -> None:
        if isinstance(value, (*_PLAIN, float, complex, *_NAMED)) or id(value) in seen or depth > MAX_DEPTH:
            return
        seen[id(value)] = value
        if isinstance(value, kind):
            found.append((path, value))
            return
        with contextlib.suppress(Exception):  # a user's class that cannot be looked into has nothing for us
            for suffix, part in items_of(value) or ():
                visit(part, path + suffix, depth + 1)

    visit(value, "", 0)
    return found


def _key(key: Any) -> str:
    return (
        normalise(repr(key)) if isinstance(key, (str, int, float, bool, bytes, tuple, type(None))) else type_name(key)
    )


def _version(tensor: torch.Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # inference tensors have none
        return -1


def _sample(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().reshape(-1) if tensor.is_contiguous() else tensor.detach()[:1].reshape(-1)
    return raw_bytes(flat[:: max(1, flat.numel() // 1024)])


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:
        return type(error).__name__
