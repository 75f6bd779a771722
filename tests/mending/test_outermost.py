"""A decorator's wrapper that Dynamo compiles first: rules write above the function that the user decorated."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import Break, Frame, Span
from graphmend_lsp.text import Text, apply_edits

MODEL, KIT = "/p/model.py", "/env/site-packages/kit.py"
WRAPPERS = """import functools


def tuples(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        return tuple(function(self, *args, **kwargs))

    return wrapper


def renamed(old, new):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    return decorate


def hooked(function):
    def new_forward(*args, **kwargs):
        return function(*args, **kwargs)

    return new_forward
"""
PROGRAM = """import torch
from kit import renamed, tuples


class Net(torch.nn.Module):
    {decorators}
    def forward(self, x):
        return x[x > 0] * 2
"""


def frame(path: str, text: str, function: str, segment: str) -> Frame:
    """The link of a chain where a function evaluates a segment."""
    at = text.index(segment, text.index(f"def {function}("))
    places = Text(text)
    return Frame(path, function, Span(places.position(at), places.position(at + len(segment))))


def site(program: str, wrappers: list[str]) -> Break:
    own = frame(MODEL, program, "forward", "x[x > 0]")
    chain = (*(frame(KIT, WRAPPERS, one, "function(") for one in wrappers), own)
    return Break(MODEL, own.span, "GB0036", "t", "r", "dynamo", chain=chain, outcome="graph break")


@pytest.mark.parametrize(
    ("decorators", "wrappers"),
    [
        (["@tuples"], ["wrapper"]),
        (['@renamed("a", new="b")'], ["inner"]),
        (["@tuples", '@renamed("a", new="b")'], ["wrapper", "inner"]),
    ],
    ids=["one", "one with arguments", "two"],
)
@pytest.mark.parametrize("editable", [True, False], ids=["a wrapper of the project", "a wrapper of a package"])
def test_a_setting_stands_above_the_decorators(decorators: list[str], wrappers: list[str], editable: bool) -> None:
    program = PROGRAM.format(decorators="\n    ".join(decorators))
    sources, wrapping = {MODEL: program}, {KIT: WRAPPERS}
    if editable:
        sources, wrapping = {**sources, **wrapping}, {}
    (mend,) = propose(site(program, wrappers), sources, ["capture"], wrapping=wrapping).mends
    assert {edit.path for edit in mend.edits} == {MODEL}
    mended = apply_edits(program, mend.edits)
    above = mended.split("class Net(torch.nn.Module):\n")[1].split("    def forward")[0].splitlines()
    assert above[-len(decorators) :] == [f"    {one}" for one in decorators]
    assert above[-len(decorators) - 1].startswith("    @captures(")
    assert f"from {SUPPORT} import captures" in mended


@pytest.mark.parametrize(
    ("wrappers", "wrapping"),
    [
        (["new_forward"], {KIT: WRAPPERS}),
        (["inner", "wrapper"], {KIT: WRAPPERS}),
        (["wrapper"], {}),
    ],
    ids=["not written as a decorator", "in another order", "of a file that cannot be read"],
)
def test_what_is_no_wrapper_of_the_decorators_is_a_reason(wrappers: list[str], wrapping: dict[str, str]) -> None:
    program = PROGRAM.format(decorators='@tuples\n    @renamed("a", new="b")')
    found = propose(site(program, wrappers), {MODEL: program}, ["capture"], wrapping=wrapping)
    assert not found.mends
    (declined,) = found.declined
    assert declined.reason == (
        f"`{wrappers[0]}` in kit.py is the compiled function, and GraphMend may not edit that file; name it, too."
    )
