"""A check that no call fails, made to fail: its condition is computed, and counts as failed. Or a side that no call takes, taken.

The original and the mended program are changed alike, in processes of their own: the functions keep their identity, and get
code in which the check's condition is what it was, and then what fails. Then both must raise the same exception and leave
the same state. For children that run user code.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .probe import exchange
from .wire import Place

_CHECK = re.compile(r"check(_\d+)?$|_\w+_check(_\d+)?$")  # of the support module, or an operator of the file
_ASSERTS = "_assert_async"
_CALLED = {
    "_check_tensor_all": 0,
    "check_tensor_all": 0,
    "_check_tensor_all_with": 1,
}  # and which argument is the condition

_Node = ast.expr | ast.stmt


@dataclass(frozen=True)
class Forced:
    """The check to fail: where it stands in the original; of a mended program also the lines that its edits wrote.

    `others` are the conditions of that program's mends in the same file, the check's own among them.
    """

    place: Place
    changed: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    others: Sequence[Place] = ()
    value: bool | None = None
    text: str = ""
    """Where no check fails: what the condition, of this text, gives instead. A mended program has it where it was moved to."""

    def install(self, source: Callable[[str], str]) -> bool:
        """Let the check fail from now on; whether it was found. `source` gives the text of a file as it was loaded."""
        file = self.place["file"]
        if self.value is not None:
            place = None if self.changed else self.place
            return exchange(file, source, _Side(place, self.text, self.value))
        if not self.changed:
            return exchange(file, source, _Original(self.place))
        before = sum(
            (one["line"], one["column"] or 0) < (self.place["line"], self.place["column"] or 0) for one in self.others
        )
        return exchange(file, source, _Mended(self.changed.get(file, ()), before, len(self.others)))


def condition_text(text: str, place: Place) -> str:
    """A condition of an `if` or a conditional expression as Python spells it; "" where the file has none such or another."""
    try:
        tests = [one.test for one in ast.walk(ast.parse(text)) if isinstance(one, (ast.If, ast.IfExp))]
    except (SyntaxError, ValueError):
        return ""
    spelled = [ast.unparse(one) for one in tests]
    found = next((words for one, words in zip(tests, spelled, strict=True) if _is_at(one, place)), "")
    return found if spelled.count(found) == 1 else ""


def failing_side(text: str, place: Place) -> bool | None:
    """The value of a condition with which a check raises; None where it is not the condition of a check."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.Assert)) and _is_at(node.test, place) and _is_check(node):
            return isinstance(node, ast.If)
        if isinstance(node, ast.Call) and (asked := _asked(node)) is not None and _is_at(asked.value, place):
            return False
    return None


def is_called(text: str, place: Place) -> bool:
    """Whether a condition is an argument of torch's check of a tensor, which may be made in compiled code alone."""
    try:
        calls = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)]
    except (SyntaxError, ValueError):
        return False
    return any((asked := _asked(one)) is not None and _is_at(asked.value, place) for one in calls)


class _Original(ast.NodeTransformer):
    """Lets the check whose condition is at a place fail."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.found: set[int] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.If, ast.Assert)) and _is_at(node.test, self.place) and _is_check(node):
            self.found.add(node.lineno)
            _fail(node)
        if isinstance(node, ast.Call) and (asked := _asked(node)) is not None and _is_at(asked.value, self.place):
            self.found.add(node.lineno)
            asked.fail()
        return self.generic_visit(node)


class _Side(ast.NodeTransformer):
    """Gives the condition at a place this value, or, where the place is not known, the only one of this text."""

    def __init__(self, place: Place | None, text: str, value: bool) -> None:
        self.place, self.text, self.value = place, text, value
        self.found: set[int] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        branches = [one for one in ast.walk(node) if isinstance(one, (ast.If, ast.IfExp))]
        if self.place is not None:
            chosen = [one for one in branches if _is_at(one.test, self.place)]
        else:
            chosen = [one for one in branches if ast.unparse(one.test) == self.text]
        if len(chosen) == 1:
            self.found.add(chosen[0].lineno)
            _settle(chosen[0], self.value)
        return node


class _Mended(ast.NodeTransformer):
    """Lets the operators of checks in given ranges of lines fail; in a range that has none, the checks.

    Where as many ranges have some as there are checks (`count`), those of one check alone: the ranges are in the order of
    the text, as the checks are, `before` of them in front of it. Else all, but none where operators and checks are mixed:
    another check would fail in this one's place.
    """

    def __init__(self, ranges: Sequence[Sequence[int]], before: int, count: int) -> None:
        self.ranges = sorted(tuple(one) for one in ranges)
        self.before, self.count = before, count
        self.found: set[int] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        asserted = [one.args[0] for one in calls if _name(one) == _ASSERTS and one.args]
        operators: list[_Node] = [
            one
            for one in calls
            if _asked(one) is not None
            or (one.args and _CHECK.match(_name(one)) and (len(one.args) > 1 or any(one is each for each in asserted)))
        ]
        checks: list[_Node] = [
            one for one in ast.walk(node) if isinstance(one, (ast.If, ast.Assert)) and _is_check(one)
        ]
        for one in self._own(operators, checks):
            self.found.add(one.lineno)
            if isinstance(one, ast.Call) and (called := _asked(one)) is not None:
                called.fail()
            elif isinstance(one, ast.Call):
                zero = ast.copy_location(ast.Constant(value=0), one)
                one.args[0] = ast.copy_location(ast.BinOp(left=one.args[0], op=ast.Mult(), right=zero), one.args[0])
            elif isinstance(one, (ast.If, ast.Assert)):  # a tensor stays one: asserted, it is an operator of the graph
                failed: ast.expr = ast.BinOp(left=one.test, op=ast.Mult(), right=ast.Constant(value=0))
                if isinstance(one, ast.If):
                    failed = ast.BinOp(left=failed, op=ast.Add(), right=ast.Constant(value=1))
                one.test = ast.fix_missing_locations(ast.copy_location(failed, copy.copy(one.test)))
        return node

    def _own(self, operators: Sequence[_Node], checks: Sequence[_Node]) -> list[_Node]:
        """Those that the ranges hold, and that are this check's as far as that can be told."""
        held = [
            [one for one in operators if _holds(each, one)] or [one for one in checks if _holds(each, one)]
            for each in self.ranges
        ]
        groups = [one for one in held if one]
        if len(groups) == self.count:
            return groups[self.before]
        flat = list(dict.fromkeys(one for group in groups for one in group))
        if len(flat) == self.count:
            return [sorted(flat, key=lambda one: (one.lineno, one.col_offset))[self.before]]
        return flat if len({one in checks for one in flat}) == 1 else []


@dataclass(frozen=True)
class _Asked:
    """The argument of a call that is the condition of a check, by its number or its keyword."""

    call: ast.Call
    at: int | ast.keyword

    @property
    def value(self) -> ast.expr:
        return self.call.args[self.at] if isinstance(self.at, int) else self.at.value

    def fail(self) -> None:
        """Let the condition be computed, and be false everywhere."""
        old = self.value
        new = ast.BinOp(left=old, op=ast.BitAnd(), right=ast.Constant(value=False))
        failed = ast.fix_missing_locations(ast.copy_location(new, old))
        if isinstance(self.at, int):
            self.call.args[self.at] = failed
        else:
            self.at.value = failed


def _asked(call: ast.Call) -> _Asked | None:
    """The condition of torch's check of a tensor; None for other calls."""
    at = _CALLED.get(_name(call))
    if at is None:
        return None
    named = next((one for one in call.keywords if one.arg == "cond"), None)
    return _Asked(call, at) if len(call.args) > at else _Asked(call, named) if named is not None else None


def _holds(lines: Sequence[int], node: _Node) -> bool:
    return lines[0] <= (node.end_lineno or node.lineno) and node.lineno <= lines[1]


def _is_check(node: ast.If | ast.Assert) -> bool:
    return isinstance(node, ast.Assert) or (isinstance(node.body[-1], ast.Raise) and not node.orelse)


def _fail(node: ast.If | ast.Assert) -> None:
    """Let the condition be computed, and be what makes the check raise."""
    _settle(node, isinstance(node, ast.If))


def _settle(node: ast.If | ast.IfExp | ast.Assert, value: bool) -> None:
    """Let the condition be computed, and have this value."""
    both = ast.Tuple(elts=[node.test, ast.Constant(value=value)], ctx=ast.Load())
    failed = ast.Subscript(value=both, slice=ast.Constant(value=1), ctx=ast.Load())
    node.test = ast.fix_missing_locations(ast.copy_location(failed, copy.copy(node.test)))


def _is_at(node: ast.expr, place: Place) -> bool:
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == (
        place["line"], place["column"], place["end_line"], place["end_column"]
    )  # fmt: skip


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
