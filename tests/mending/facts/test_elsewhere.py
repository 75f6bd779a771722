"""Functions of other files of the package are read: what only computes or raises stores nothing before a check."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.facts.elsewhere import Elsewhere
from graphmend_lsp.mending.syntax.source import Source, read

MODEL = """from pkg.sub.checks import same, deep, compiling, bound, later, walrus, loading, note as noted
from ...near import near
from . import beside
from other.lib import far
import pkg.sub.checks


def own(x):
    return x + 1


def shown(x):
    print(x)


@own
def wrapped(x):
    return x


def fn(x, given):
    {call}
    return x
"""
CHECKS = """SEEN = []


def same(a, b):
    if a.shape != b.shape:
        raise ValueError(f"{a.shape}, {b.shape}")


def deep(a):
    rows = [one + 1 for one in a]
    same(a, rows[0])
    return rows


def note(a):
    SEEN.append(a)


def compiling(given=None):
    try:
        import torch

        found = torch.compiler.is_compiling() or torch.jit.is_tracing()
    except Exception:
        return False
    if given is not None:
        note(given)
    return found


def bound(given=None):
    given = 1 if given is None else given
    if given is not None:
        note(given)
    return given


def later(given=None, more=True):
    if more:
        given = SEEN
    if given is not None:
        given.append(1)


def walrus(given=None):
    [(given := SEEN) for one in range(1)]
    if given is not None:
        given.append(1)


def loading():
    import numpy

    return numpy
"""
SOURCES = {
    "/lib/pkg/sub/checks.py": CHECKS,
    "/lib/pkg/near.py": "def near(x):\n    y = x.clone()\n    y[0] = 1\n    return y\n",
    "/lib/pkg/sub/deeper/beside.py": "def beside(x):\n    return x\n",
    "/apart/other/lib.py": "def far(x):\n    return x\n",
}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("same(x, x)", True),
        ("deep(x)", True),
        ("own(x)", True),
        ("near(x)", True),
        ("noted(x)", False),  # stores in a list of its module
        ("shown(x)", False),
        ("compiling()", True),
        ("compiling(x)", False),  # which it stores
        ("compiling(given=x)", False),
        ("compiling(*x)", False),
        ("compiling(**x)", False),
        ("bound()", False),
        ("later()", False),
        ("walrus()", False),
        ("loading()", False),  # runs a module
        ("wrapped(x)", False),  # nobody knows what its decorator does
        ("far(x)", False),  # another package's
        ("given(x)", False),
        ("pkg.sub.checks.same(x, x)", False),
        ("beside.beside(x)", False),
    ],
)
def test_what_a_function_does_is_read(call: str, expected: bool) -> None:
    source = read("/lib/pkg/sub/deeper/model.py", MODEL.replace("{call}", call))
    assert isinstance(source, Source)
    node = next(one for one in source.nodes if isinstance(one, ast.Call) and ast.unparse(one) == call)
    assert Elsewhere(SOURCES).only_gives(source, node) is expected


def test_a_name_of_the_function_is_not_the_module_s() -> None:
    source = read("/lib/pkg/sub/deeper/model.py", MODEL.replace("{call}", "own = given; own(x)"))
    assert isinstance(source, Source)
    node = next(one for one in source.nodes if isinstance(one, ast.Call) and ast.unparse(one) == "own(x)")
    assert not Elsewhere(SOURCES).only_gives(source, node)
