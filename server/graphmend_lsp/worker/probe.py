"""Watch which way conditions go and what `torch.where` is given, in a loaded program that computes as before.

The functions keep their identity; their code objects are exchanged for ones compiled from the same text with the
watched expressions wrapped in a recording call. For uncompiled runs in a child that dies afterwards.
"""

from __future__ import annotations

import ast
import builtins
import gc
import os
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from .places import same_file
from .wire import Place, SideData

_SIDE = "_graphmend_side"
_WHERE = "_graphmend_where"


class Wrapper(Protocol):
    """Changes the tree of a file; `found` says what it changed."""

    found: set[int]

    def visit(self, node: ast.AST) -> Any:
        """The changed node."""
        ...


@dataclass
class Sides:
    """Which values the watched conditions took so far; `unwatched` are those that were not found in the text."""

    conditions: Sequence[Place]
    seen: dict[int, set[bool]] = field(default_factory=dict)
    unwatched: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        """How many sides were seen."""
        return sum(len(values) for values in self.seen.values())

    @property
    def complete(self) -> bool:
        """Whether every condition that can be watched went both ways."""
        return all(
            len(self.seen.get(number, ())) == 2
            for number in range(len(self.conditions))
            if number not in self.unwatched
        )

    @contextmanager
    def believed(self, believed: bool) -> Iterator[None]:
        """A call; what it shows is forgotten when it is not `believed`, or does not come to its end."""
        seen = {number: set(values) for number, values in self.seen.items()}
        try:
            yield
        except BaseException:
            believed = False
            raise
        finally:
            if not believed:
                self.seen.clear()
                self.seen.update(seen)

    def data(self) -> list[SideData]:
        """The conditions in order with what was seen of each."""
        return [
            SideData(condition=place, true=True in self.seen.get(number, ()), false=False in self.seen.get(number, ()))
            for number, place in enumerate(self.conditions)
        ]


@dataclass
class Wheres:
    """What the watched `torch.where` calls were given that a branch could not have been."""

    unlike: dict[str, None] = field(default_factory=dict)

    @contextmanager
    def believed(self, believed: bool) -> Iterator[None]:
        """A call; what it shows is forgotten when it is not `believed`."""
        before = dict(self.unlike)
        yield
        if not believed:
            self.unlike.clear()
            self.unlike.update(before)


def watch_conditions(conditions: Sequence[Place], source: Callable[[str], str]) -> Sides:
    """Record the truth of each condition from now on. `source` gives the text of a file as it was loaded."""
    sides = Sides(conditions)

    def side(number: int, value: Any) -> Any:
        truth = _truth(value)
        if truth is not None:
            sides.seen.setdefault(number, set()).add(truth)
        return value

    setattr(builtins, _SIDE, side)
    for file in dict.fromkeys(place["file"] for place in conditions):
        numbers = {number: place for number, place in enumerate(conditions) if place["file"] == file}
        wrapper = _Conditions(numbers)
        if not exchange(file, source, wrapper):
            wrapper.found.clear()
        sides.unwatched |= numbers.keys() - wrapper.found
    return sides


def watch_wheres(changed: Mapping[str, Sequence[Sequence[int]]], source: Callable[[str], str]) -> Wheres:
    """Record three-argument `torch.where` calls on the changed lines whose sides are unlike, from now on."""
    wheres = Wheres()
    several = len(changed) > 1

    def where(place: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if function is torch.where and len(args) + len(kwargs) == 3 and isinstance(result, torch.Tensor):
            condition, one, other = (*args, *kwargs.values())
            words = unlike(condition, one, other, result)
            if words:
                wheres.unlike[f"{place}: {words}"] = None
        return result

    setattr(builtins, _WHERE, where)
    for file, ranges in changed.items():
        prefix = f"{file.replace(chr(92), '/').rsplit('/', 1)[-1]} line" if several else "line"
        exchange(file, source, _WhereCalls(ranges, prefix))
    return wheres


def unlike(condition: Any, one: Any, other: Any, result: torch.Tensor) -> str | None:
    """Why `torch.where(condition, one, other)` is not what an `if` would have given, in words; None when it is.

    An `if` gives one side as it is; `where` broadcasts and promotes. Two tensors must agree in shape, dtype and device,
    and the result must look like them. A Python number may stand beside a tensor that the result looks exactly like.
    """
    tensors = [side for side in (one, other) if isinstance(side, torch.Tensor)]
    words = f"{_describe(one)} against {_describe(other)}"
    if len(tensors) == 2 and (one.shape != other.shape or one.dtype != other.dtype or one.device != other.device):
        return words
    if tensors and (result.shape != tensors[0].shape or result.dtype != tensors[0].dtype):
        if len(tensors) == 1 and result.shape == tensors[0].shape:
            return f"{words} gives {_describe(result)}"
        return f"{words} under a condition {_describe(condition)} gives {_describe(result)}"
    if not tensors and result.dim():
        return f"{words} under a condition {_describe(condition)} gives {_describe(result)}"
    return None


class _Conditions(ast.NodeTransformer):
    """Wraps the expressions at given places."""

    def __init__(self, places: Mapping[int, Place]) -> None:
        self.exact = {
            (place["line"], place["column"], place["end_line"], place["end_column"]): number
            for number, place in places.items()
            if place["column"] is not None
        }
        self.lines = {place["line"]: number for number, place in places.items() if place["column"] is None}
        self.found: set[int] = set()

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr):
            key = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            number = self.exact.pop(key, None)
            if number is not None:
                self.found.add(number)
                self.generic_visit(node)
                return _call(_SIDE, number, node)
        elif isinstance(node, (ast.If, ast.While, ast.Assert)):
            number = self.lines.pop(node.test.lineno, None)
            if number is not None:
                self.found.add(number)
                self.generic_visit(node)
                node.test = _call(_SIDE, number, node.test)
                return node
        return self.generic_visit(node)


class _WhereCalls(ast.NodeTransformer):
    """Wraps calls of something named ``where`` with three arguments that begin on given lines."""

    def __init__(self, ranges: Sequence[Sequence[int]], prefix: str) -> None:
        self.ranges = ranges
        self.prefix = prefix
        self.found: set[int] = set()

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name != "where" or len(node.args) + len(node.keywords) != 3:
            return node
        last_line = node.end_lineno or node.lineno
        if not any(first <= last_line and node.lineno <= last for first, last in self.ranges):
            return node
        self.found.add(node.lineno)
        wrapped = _call(_WHERE, f"{self.prefix} {node.lineno}", node.func)
        wrapped.args += node.args
        wrapped.keywords = node.keywords
        return ast.copy_location(wrapped, node)


def _call(function: str, first: int | str, second: ast.expr) -> ast.Call:
    call = ast.Call(func=ast.Name(id=function, ctx=ast.Load()), args=[ast.Constant(value=first), second], keywords=[])
    return ast.fix_missing_locations(ast.copy_location(call, second))


def exchange(file: str, source: Callable[[str], str], wrapper: Wrapper) -> bool:
    """Give the living functions of a file the code of its wrapped text; whether that could be done."""
    try:
        text = source(file)
        tree = wrapper.visit(ast.parse(text, file))
        if not wrapper.found:
            return False
        plain = compile(text, file, "exec", dont_inherit=True)
        wrapped = compile(tree, file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, UnicodeError):
        return False
    pairs: dict[types.CodeType, types.CodeType] = {}
    _pair(plain, wrapped, pairs)
    spelled: dict[str, bool] = {}
    name = os.path.basename(file)
    by_place = {(old.co_name, old.co_firstlineno): new for old, new in pairs.items()}
    for function in [one for one in gc.get_objects() if type(one) is types.FunctionType]:
        code = function.__code__
        if code.co_filename not in spelled:
            spelled[code.co_filename] = code.co_filename.endswith(name) and same_file(code.co_filename, file)
        if not spelled[code.co_filename]:
            continue
        new = pairs.get(code) or by_place.get((code.co_name, code.co_firstlineno))
        if new is not None and new.co_freevars == code.co_freevars:
            function.__code__ = new
    return True


def _pair(old: types.CodeType, new: types.CodeType, pairs: dict[types.CodeType, types.CodeType]) -> None:
    """The code objects of two compilations of one text, matched in the order in which they appear."""
    pairs[old] = new
    inner_old = [one for one in old.co_consts if isinstance(one, types.CodeType)]
    inner_new = [one for one in new.co_consts if isinstance(one, types.CodeType)]
    for one, other in zip(inner_old, inner_new, strict=False):
        _pair(one, other, pairs)


def _truth(value: Any) -> bool | None:
    """What a truth test of the value would say; None when it would raise."""
    try:
        return bool(value)
    except Exception:
        return None


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        device = "" if value.device.type == "cpu" else f" on {value.device.type}"
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}{device}"
    return f"the Python number {value!r}" if isinstance(value, (bool, int, float, complex)) else type(value).__name__
