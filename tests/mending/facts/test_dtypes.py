"""Which dtypes a tensor may be of by the text of its file: every answer is compared with what torch makes of it."""

import ast
from typing import Any

import pytest
import torch

from graphmend_lsp.mending.facts.dtypes import Dtypes
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.syntax.source import Source, read

PROGRAM = """\
import torch
import torch.nn.functional as F

def f(x, k, b):
    n = k.long()
    h = x.half()
    m = x.mean()
    last = {expression}
    return last
"""

EXPRESSIONS = {
    "n + 1": {"int64"},
    "n * 2.5": {"floating"},
    "n / 2": {"floating"},
    "n // 2": {"int64"},
    "n % 7": {"int64"},
    "-n": {"int64"},
    "n + b.int()": {"int64", "narrow"},
    "b.int() + 1": {"narrow"},
    "b.int() + True": {"narrow"},
    "n.sum()": {"int64"},
    "b.int().sum()": {"int64"},
    "b.int().cumsum(0)": {"int64"},
    "b.int().max()": {"narrow"},
    "b.int().sum(dtype=torch.float64)": {"floating"},
    "b.int().to(torch.int64)": {"int64"},
    "n.to(h.dtype)": {"floating"},
    "n.to(x.device)": {"int64"},
    "n.type_as(h)": {"floating"},
    "n.clamp(min=0)": {"int64"},
    "n.clamp(min=0.5)": {"floating"},
    "n.clamp(0, 9)": {"int64"},
    "n.clamp(None, 9)": {"int64"},
    "n.clamp(max=9, min=None)": {"int64"},
    "n.float()": {"floating"},
    "n.abs().neg()": {"int64"},
    "(n > 2)": {"bool"},
    "(n > 2).sum()": {"int64"},
    "h.exp()": {"floating"},
    "n.exp()": {"floating"},
    "m * n": {"floating"},
    "F.softmax(n.float(), -1)": {"floating"},
    "torch.div(n, 2)": {"floating"},
    "torch.add(n, 1)": {"int64"},
    "torch.maximum(n, n)": {"int64"},
    "torch.zeros_like(n)": {"int64"},
    "torch.zeros_like(n, dtype=torch.bool)": {"bool"},
    "torch.zeros(3)": {"floating"},
    "torch.ones(3, dtype=torch.long)": {"int64"},
    "torch.randint(3, (3,))": {"int64"},
    "torch.randn(3)": {"floating"},
    "x.argmax(-1)": {"int64"},
    "b.nonzero()": {"int64"},
    "n.reshape(-1).flatten()": {"int64"},
    "(n.reshape(-1) if n.dim() else n)": None,
    "k": None,
    "k + 1": {"floating", "int64", "narrow"},
    "k * 1.0": {"floating"},
    "k / k": {"floating"},
    "torch.div(n, 2, rounding_mode='floor')": None,
    "n.sort()": None,
    "n.item()": None,
    "n[0]": {"int64"},
    "x.topk(2)[1]": {"int64"},
    "x.sort().indices": {"int64"},
    "torch.max(h, 0)[0]": {"floating"},
    "x.max(dim=0)[1]": {"int64"},
    "h.max(0)[1]": {"int64"},
    "torch.max(x, k)": {"floating"},
    "torch.max(x, x)[1]": {"floating"},
    "torch.where(b, n, 0)": None,
    "n.to(k.dtype)": None,
    "3": None,
}
"""What the text says of each; None where it says nothing."""


def _classes(dtype: torch.dtype) -> str:
    if dtype.is_floating_point:
        return "floating"
    return {torch.bool: "bool", torch.int64: "int64"}.get(dtype, "narrow")


def _told(expression: str) -> frozenset[str]:
    source = read("f.py", PROGRAM.format(expression=expression))
    assert isinstance(source, Source)
    function = next(one for one in source.tree.body if isinstance(one, ast.FunctionDef))
    last = function.body[-2]
    assert isinstance(last, ast.Assign)
    return frozenset(Dtypes(source, Kinds(source)).dtypes(last.value))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_dtypes(expression: str) -> None:
    wanted = EXPRESSIONS[expression]
    told = _told(expression)
    assert told == (frozenset(("bool", "narrow", "int64", "floating")) if wanted is None else frozenset(wanted))
    space: dict[str, Any] = {}
    exec(PROGRAM.format(expression=expression), space)
    for k in (torch.tensor([3, 1, 2]), torch.tensor([3, 1, 2], dtype=torch.uint8), torch.tensor(2), torch.rand(3)):
        if (k.numel() > 1 and "item" in expression) or (not k.dim() and "[0]" in expression):
            continue
        result = space["f"](torch.rand(3) + 0.1, k, torch.tensor([True, False, True]))
        if isinstance(result, torch.Tensor):
            assert _classes(result.dtype) in told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "a = x.sum()\n    while a > 0:\n        b = a\n        a = b * 2\n    last = a",
            {"floating", "int64", "narrow"},
        ),  # each computed from the other
        ("a = x.long()\n    if n:\n        a = x.float()\n    last = a", {"int64", "floating"}),
        ("s = x.std()\n    last = x", {"floating"}),
        ("x = x.float()\n    s = x.std()\n    last = x", None),
        ("s = x.mean(dtype=torch.float32)\n    last = x", None),
    ],
)
def test_of_names(body: str, told: set[str] | None) -> None:
    source = read("f.py", f"import torch\n\ndef f(x, n):\n    {body}\n    return last\n")
    assert isinstance(source, Source)
    function = next(one for one in source.tree.body if isinstance(one, ast.FunctionDef))
    last = function.body[-1]
    assert isinstance(last, ast.Return) and last.value is not None
    found = Dtypes(source, Kinds(source)).dtypes(last.value)
    assert found == (frozenset(("bool", "narrow", "int64", "floating")) if told is None else frozenset(told))


def test_an_element_of_the_largest_of_an_array_is_no_index() -> None:
    source = read("model.py", "import numpy\n\n\ndef fn(n):\n    return numpy.ones((n, n)).max(0)[1]\n")
    assert isinstance(source, Source)
    value = source.tree.body[1].body[0].value  # type: ignore[attr-defined]
    assert not Dtypes(source, Kinds(source)).is_whole(value)
