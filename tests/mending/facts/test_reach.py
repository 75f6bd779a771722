"""Which functions of a file may lead to one of it, and from inside of what: judged widely, as a missed caller would be unsound."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.facts.reach import Calls, called_within, caught_at
from graphmend_lsp.mending.syntax.source import Function, Source, read

TEXT = """\
import contextlib
import torch
from torch import nn
from elsewhere import Other


def helper(x):
    return x


def uses(x):
    return helper(x)


class Inner(nn.Module):
    def forward(self, x):
        return uses(x)


class Held(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.inner = Inner()
        self.lin = nn.Linear(2, 2)
        self.other = Other()
        self.given = given
        self.listed = nn.ModuleList([Inner()])

    def by_name(self, x):
        return self.inner(x)

    def by_layer(self, x):
        return self.lin(x)

    def by_import(self, x):
        return self.other(x)

    def by_argument(self, x):
        return self.given(x)

    def by_list(self, x):
        return self.listed[0](x)

    def by_parameter(self, x, layer):
        return layer(x)

    def by_method(self, x):
        return self.by_name(x)

    def by_builtin(self, x):
        return len(x)


def catches(held, x):
    try:
        return held.by_method(x)
    except ValueError:
        return x


def quiet(held, x):
    with contextlib.redirect_stdout(None):
        y = held.by_layer(x)
    with torch.no_grad():
        return y + held.by_name(x)
"""


@pytest.fixture(scope="module")
def source() -> Source:
    found = read("m.py", TEXT)
    assert isinstance(found, Source)
    return found


def function(source: Source, name: str) -> Function:
    return next(one for one in ast.walk(source.tree) if isinstance(one, ast.FunctionDef) and one.name == name)


LEADING = [
    ("quiet", {"quiet"}),
    ("by_builtin", {"by_builtin"}),
    ("by_layer", {"by_layer", "quiet"}),
    ("by_method", {"by_method", "catches"}),
    (
        "helper",  # a value that is not known may be any module, a layer of torch is none
        {"helper", "uses", "forward", "by_name", "by_import", "by_argument", "by_list", "by_parameter", "by_method"}
        | {"catches", "quiet"},
    ),
]


@pytest.mark.parametrize(("name", "names"), LEADING, ids=[name for name, _ in LEADING])
def test_what_may_lead_to_a_function(source: Source, name: str, names: set[str]) -> None:
    assert {one.name for one in Calls(source).leading_to(function(source, name))[0]} == names


def test_where_its_exceptions_may_be_caught(source: Source) -> None:
    line = TEXT.splitlines().index("        return held.by_method(x)") + 1
    assert caught_at(source, function(source, "helper")) == line
    assert caught_at(source, function(source, "by_layer")) is None


def test_what_it_may_be_called_within(source: Source) -> None:
    line = TEXT.splitlines().index("        return y + held.by_name(x)") + 1
    assert called_within(source, function(source, "helper"), ("no_grad",)) == line
    assert called_within(source, function(source, "helper"), ("redirect",)) is None
    assert called_within(source, function(source, "by_layer"), ("redirect",)) == line - 2
