"""Notes of a run stay with lines that mends leave, and go where a changed line may have made another kind of value."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from graphmend_lsp.engine.noted_moved import moved
from graphmend_lsp.worker.wire import NotedFunction

OLD = """import torch

def fn(x, limit):
    n = x.sum().item()
    y = n + limit
    return helper(n) * y

def helper(z):
    return z + 1
"""
NEW = """import torch

from graphmend_support import check

def fn(x, limit):
    n = x.sum()
    y = n + limit
    return helper(n) * y

def helper(z):
    return z + 1
"""


def noted(text: str, name: str) -> NotedFunction:
    """A note of each expression and parameter of a function, as if a run had made it."""
    function: Any = next(one for one in ast.walk(ast.parse(text)) if getattr(one, "name", "") == name)
    values = [
        {"at": [one.lineno, one.col_offset, one.end_lineno, one.end_col_offset], "name": "", "value": ast.unparse(one)}
        for one in ast.walk(function)
        if isinstance(one, (ast.expr, ast.arg))
    ]
    callers = [{"file": "m.py", "line": 6, "function": "fn", "times": 1}]
    made: Any = {"file": "m.py", "function": name, "line": function.lineno, "callers": callers, "values": values}
    return made


def known(found: tuple[NotedFunction, ...], name: str) -> set[Any]:
    """The expressions of which something is known; each note stands where its expression now is."""
    lines = NEW.splitlines()
    values = {one["function"]: one["values"] for one in found}.get(name)
    for value in values or ():
        first, start, last, end = value["at"]
        assert first == last and lines[first - 1][start:end] == str(value["value"])
    return {str(value["value"]) for value in values} if values is not None else {None}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fn", {"x", "limit"}),  # what comes of `n` is a tensor now
        ("helper", {None}),  # it gets one
    ],
)
def test_what_a_changed_line_makes_is_not_known(name: str, expected: set[Any]) -> None:
    found = moved([noted(OLD, "fn"), noted(OLD, "helper")], {"m.py": OLD}, {"m.py": NEW})
    assert known(found, name) == expected


def test_a_function_elsewhere_keeps_its_notes_on_their_new_lines() -> None:
    new = NEW.replace("helper(n)", "n")
    found = moved([noted(OLD, "helper")], {"m.py": OLD}, {"m.py": new})
    assert known(found, "helper") == {"z", "1", "z + 1"}
    assert found[0]["line"] == 10 and found[0]["callers"][0]["line"] == 6


def test_other_files_and_texts_that_cannot_be_read() -> None:
    note = noted(OLD, "helper")
    assert moved([note], {"n.py": ""}, {"n.py": "x = 1"}) == (note,)
    assert moved([note], {"m.py": OLD}, {"m.py": "def"}) == ()


def test_a_method_that_is_given_what_changed_is_what_it_was_for_others() -> None:
    old = "def fn(x, n):\n    m = n.item()\n    y = x.eq(m)\n    z = x.eq(2)\n    return y, z\n"
    (found,) = moved([noted(old, "fn")], {"m.py": old}, {"m.py": old.replace("n.item()", "n")})
    told = {str(value["value"]) for value in found["values"]}
    assert {"z", "x.eq(2)"} <= told and not {"y", "x.eq(m)", "m"} & told
