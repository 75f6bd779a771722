"""The program's state as it was at a time, to be put back: each probe begins with the program as it was loaded.

For children that run user code. Containers and objects keep their identity; tensors get their bytes back in place.
"""

from __future__ import annotations

import contextlib
import io
import types
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import is_
from typing import Any

import torch

from ..exercised import unwatched
from ..observe import Subject, class_data

_LEAVES = (str, bytes, int, float, complex, type(None), type, types.ModuleType, types.FunctionType, types.MethodType)
_MOST = 20_000  # things that are looked at
_Dict = tuple[dict[Any, Any], dict[Any, Any], list[Any], list[Any]]  # it, its content, and that as lists


class Kept:
    """What modules, the program's globals and objects, and everything that they hold were when this was made.

    `is_back`: nothing has run since it was put back; whoever runs the program says so.
    """

    def __init__(self, subject: Subject) -> None:
        self.is_back = False
        self._undo: list[Callable[[], None]] = []
        self._dicts: list[_Dict] = []
        self._alive: dict[int, Any] = {}
        for module in subject.modules.values():
            self._visit(module)
        for file in subject.files:
            for name, value in list(vars(file).items()):
                if not name.startswith("__") and not isinstance(value, _LEAVES):
                    self._visit(value)
                for word, one in class_data(value, file).items():
                    self._undo.append(partial(setattr, value, word, one))
                    self._visit(one)
            self._keep_dict(vars(file))
        for one in subject.held.values():
            if isinstance(one, types.CellType):
                with contextlib.suppress(ValueError):  # an empty cell
                    self._undo.append(partial(setattr, one, "cell_contents", one.cell_contents))
                    self._visit(one.cell_contents)
            else:
                self._visit(one)

    def put_back(self) -> None:
        """Make all of it what it was."""
        self.is_back = True
        with unwatched():
            for one, content, keys, values in self._dicts:
                try:
                    if len(one) != len(keys) or list(one) != keys or not all(map(is_, one.values(), values)):
                        one.clear()
                        one.update(content)
                except Exception:  # an odd object of the user's: it stays as it is
                    continue
            for undo in self._undo:
                try:
                    undo()
                except Exception:  # a frozen object of the user's: it stays as it is
                    continue

    def _visit(self, value: Any) -> None:
        waiting = [value]
        while waiting and len(self._alive) < _MOST:
            one = waiting.pop()
            if isinstance(one, _LEAVES) or id(one) in self._alive:
                continue
            self._alive[id(one)] = one
            with contextlib.suppress(Exception):
                waiting += self._keep(one)

    def _keep(self, one: Any) -> list[Any]:
        """Note how the thing is put back; what it holds."""
        if isinstance(one, torch.Tensor):
            self._undo.append(_tensor(one))
            return []
        if isinstance(one, dict):
            self._keep_dict(one)
            return list(one.values())
        if isinstance(one, (list, deque)):
            self._undo.append(_refilling(one, list(one)))
            return list(one)
        if isinstance(one, set):
            self._undo.append(_resetting(one, set(one)))
            return list(one)
        if isinstance(one, (tuple, frozenset)):
            return list(one)
        if isinstance(one, torch.Generator):
            self._undo.append(partial(one.set_state, one.get_state()))
            return []
        if isinstance(one, (io.StringIO, io.BytesIO)):
            self._undo.append(_rewriting(one, one.getvalue(), one.tell()))
            return []
        inside = getattr(one, "__dict__", None)
        if isinstance(inside, dict):
            self._keep_dict(inside)
            return list(inside.values())
        return []

    def _keep_dict(self, one: dict[Any, Any]) -> None:
        content = dict(one)
        self._dicts.append((one, content, list(content), list(content.values())))


def _refilling(one: list[Any] | deque[Any], content: list[Any]) -> Callable[[], None]:
    def undo() -> None:
        one.clear()
        one.extend(content)

    return undo


def _resetting(one: set[Any], content: set[Any]) -> Callable[[], None]:
    def undo() -> None:
        one.clear()
        one.update(content)

    return undo


def _rewriting(one: Any, content: Any, place: int) -> Callable[[], None]:
    def undo() -> None:
        one.seek(0)
        one.truncate()
        one.write(content)
        one.seek(place)

    return undo


def _tensor(one: torch.Tensor) -> Callable[[], None]:
    """The values are copied only of what is small, and of no large weights: nobody writes to those."""
    data, asks = one.data, one.requires_grad
    small = one.numel() * one.element_size() <= (1 << 16 if isinstance(one, torch.nn.Parameter) else 1 << 22)
    value = one.detach().clone() if small else None
    version = one._version

    def undo() -> None:
        if one.data_ptr() != data.data_ptr() or one.dtype != data.dtype:
            one.data = data
        if value is not None and one._version != version:
            with torch.no_grad():
                one.detach().copy_(value)
        if one.is_leaf:
            one.requires_grad_(asks)
            one.grad = None

    return undo
