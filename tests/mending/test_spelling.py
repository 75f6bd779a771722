"""The table of spellings: both forms of each row are the same, bit for bit, whatever the tensor is; and ways to write them."""

from __future__ import annotations

import ast
import copy
import itertools
import math
import operator
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rules.spelling.table import SPELLINGS, SUCH_AS, Spelling

from .conftest import PATH, mended, unmark

_SPECIAL = (0.0, -0.0, 1.5, -2.0, float("nan"), float("inf"), -float("inf"), 60000.0)
_WHOLE = (0, 1, 100, 2, 3, 127, 5, 7)


def instances(row: Spelling) -> Iterator[tuple[str, str]]:
    """Both forms of a row with every combination of what its letters are tried with, about a tensor ``t``."""
    letters = sorted(set(re.findall(r"\b[A-Z]\b", row.before)))
    choices = [row.such_as.get(one) or SUCH_AS[row.where.get(one, "any")] for one in letters]
    for parts in itertools.product(*choices):
        by_letter = dict(zip(letters, parts, strict=True))
        yield _filled(row.before, by_letter), _filled(row.after, by_letter)


def _filled(form: str, parts: dict[str, str]) -> str:
    return re.sub(r"\*?\b([A-Z])\b", lambda found: _operand(found, parts), form)


def _operand(found: re.Match[str], parts: dict[str, str]) -> str:
    part = parts[found[1]]
    return part if found[0].startswith("*") or part.isidentifier() else f"({part})"


def tensors() -> Iterator[Any]:
    """Tensors of every common dtype: many values, one without dimensions, none, other strides, and asking for gradients."""
    import torch

    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
                  torch.uint8, torch.bool, torch.complex64):  # fmt: skip
        whole = torch.tensor(_SPECIAL if dtype.is_floating_point else _WHOLE).to(dtype)
        yield from (whole, whole[2].clone(), whole[:0], whole.view(2, 4).T, whole[:0].reshape(0, 3))
        if dtype.is_floating_point or dtype.is_complex:
            yield whole.clone().requires_grad_()


def outcome(form: str, tensor: Any) -> tuple[Any, ...]:
    """What a form gives or raises, and what it leaves in its tensor, as values that can be compared with ``==``."""
    import torch

    space = {"torch": torch, "numpy": numpy, "math": math, "operator": operator, "copy": copy}
    t = tensor if tensor.requires_grad else tensor.clone()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if isinstance(ast.parse(form).body[0], ast.Assign):
                exec(form, space, {"t": t})
                value: Any = None
            else:
                value = eval(form, space, {"t": t})
        except Exception as error:
            value = type(error)
    return (_known(value), _known(t), [str(one.message) for one in caught])


def _known(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        data = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return (value.dtype, value.shape, value.stride(), value.requires_grad, type(value.grad_fn), data)
    if isinstance(value, numpy.ndarray):
        return (value.dtype, value.shape, value.tobytes())
    if isinstance(value, (list, tuple)):
        return (type(value), [_known(one) for one in value])
    return (
        (type(value), {key: _known(one) for key, one in value.items()})
        if isinstance(value, dict)
        else (type(value), value)
    )


@pytest.mark.parametrize("row", SPELLINGS, ids=lambda row: f"{row.before} -> {row.after}")
def test_both_forms_are_the_same(row: Spelling) -> None:
    kept = list(tensors())
    pairs = list(instances(row))
    assert pairs
    for before, after in pairs:
        for tensor in kept:
            assert outcome(before, tensor) == outcome(after, tensor), (before, after, tensor)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("operator.length_hint(t)", "len(t)"),
        ("t.dtype.to_real()", "t.abs().dtype"),
        ("numpy.prod(t.shape).item()", "math.prod(t.shape)"),
        ("torch.arange(2, t.numel()).tolist()", "list(range(2, t.numel()))"),
        ("copy.copy(t)", "t.detach()"),
    ],
)
def test_forms_that_differ_are_seen(before: str, after: str) -> None:
    assert any(outcome(before, tensor) != outcome(after, tensor) for tensor in tensors())


HEAD = "import copy\nimport math\nimport operator\n\nimport numpy as np\nimport torch\nfrom torch.autograd import Variable\nfrom torch.utils.data import default_collate\n\n\n"


@pytest.mark.parametrize(
    ("gb_id", "before", "after"),
    [
        ("GB0059", "⟦pow(x, n)⟧", "x**n"),
        ("GB0059", "⟦pow(x, -n)⟧ * 2", "x ** (-n) * 2"),
        ("GB0059", "⟦pow(x, n)⟧ ** 2", "(x**n) ** 2"),
        ("GB0059", "⟦pow(x, n)⟧.sum()", "(x**n).sum()"),
        ("GB0059", "⟦pow(x, n)⟧[0]", "(x**n)[0]"),
        ("GB0059", "f(⟦pow(x if n else 1, n)⟧)", "f((x if n else 1) ** n)"),
        ("GB0059", "-⟦pow(x, n)⟧", "-x**n"),
        ("GB0059", "{1: ⟦pow(x, n)⟧}", "{1: (x**n)}"),
        ("GB0059", "⟦operator.inv(x > 1)⟧", "~(x > 1)"),
        ("GB0059", "⟦operator.call(torch.clamp, x, *n, min=0, **f)⟧", "torch.clamp(x, *n, min=0, **f)"),
        ("GB0059", "⟦operator.indexOf(x.shape, 4)⟧", "x.shape.index(4)"),
        ("GB0208", "⟦torch.is_same_size(x + 1, n)⟧ and f", "((x + 1).shape == n.shape) and f"),
        ("GB0208", "⟦torch.get_device(x)⟧", "x.get_device()"),
        ("GB0208", "⟦np.ndim(x)⟧ + 1", "x.ndim + 1"),
        ("GB0033", "int(⟦np.prod(x.shape[1:])⟧)", "math.prod(x.shape[1:])"),
        ("GB0033", "⟦int(np.prod(x.size()))⟧", "math.prod(x.size())"),
        ("GB0033", "⟦np.arange(len(x)).tolist()⟧", "list(range(len(x)))"),
        ("GB0033", "⟦torch.arange(x.size(0))⟧.tolist()", "list(range(x.size(0)))"),
        ("GB0007", "⟦copy.copy({'a': x})⟧", "{'a': x}.copy()"),
        ("GB0007", "⟦copy.copy([one for one in x])⟧", "[one for one in x].copy()"),
        ("GB0007", "⟦default_collate([x.sin(), x.cos()])⟧", "torch.stack([x.sin(), x.cos()])"),
        ("GB0007", "⟦torch.typename(x.sin())⟧", "x.sin().type()"),
        ("GB0007", "⟦Variable(x.sin())⟧ + 1", "x.sin().detach() + 1"),
        ("GB0007", "⟦Variable(x.sin(), requires_grad=False)⟧", "x.sin().detach()"),
        ("UserError", "⟦torch.LongTensor([n, 1])⟧.to(f)", 'torch.tensor([n, 1], dtype=torch.int64, device="cpu").to(f)'),
        ("UserError", "⟦torch.FloatTensor(list(n))⟧", 'torch.tensor(list(n), dtype=torch.float32, device="cpu")'),
    ],
)  # fmt: skip
def test_form_is_written(gb_id: str, before: str, after: str) -> None:
    value, site = unmark(f"{HEAD}def fn(x, n, f):\n    return {before}\n", gb_id=gb_id)
    assert mended("spelling", value, site) == f"{HEAD}def fn(x, n, f):\n    return {after}\n"


@pytest.mark.parametrize(
    ("gb_id", "expression"),
    [
        ("GB0059", "⟦pow(x, n, 3)⟧"),
        ("GB0059", "⟦pow(x, exp=n)⟧"),
        ("GB0059", "⟦pow(*n)⟧"),
        ("GB0059", "⟦operator.inv⟧"),
        ("GB0059", "[⟦operator.setitem(x, 0, n)⟧]"),
        ("GB0156", "⟦n.is_signed()⟧"),
        ("GB0007", "⟦torch.typename(n)⟧"),
        ("GB0007", "⟦Variable(n)⟧"),
        ("GB0007", "⟦Variable(x.sin(), requires_grad=True)⟧"),
        ("UserError", "⟦torch.LongTensor(n)⟧"),
        ("UserError", "⟦torch.LongTensor([n], device=f)⟧"),
        ("GB0007", "⟦default_collate([])⟧"),
        ("GB0007", "⟦default_collate([1, 2])⟧"),
        ("GB0033", "⟦np.prod(x.shape)⟧"),
        ("GB0033", "⟦np.prod(x.shape)⟧.item()"),
        ("GB0033", "⟦int(np.prod(x))⟧"),
        ("GB0033", "⟦torch.arange(2.5)⟧.tolist()"),
        ("GB0033", "⟦torch.arange(-1)⟧.tolist()"),
        ("GB0033", "⟦torch.arange(True)⟧.tolist()"),
        ("GB0033", "⟦torch.arange(len(x), dtype=torch.float32)⟧.tolist()"),
        ("GB0208", "⟦torch.result_type(x, True)⟧"),
    ],
)
def test_form_is_left_alone(gb_id: str, expression: str) -> None:
    value, site = unmark(f"{HEAD}def fn(x, n, f):\n    return {expression}\n", gb_id=gb_id)
    assert not propose(site, {PATH: value}, ["spelling"]).mends


def test_a_name_of_the_users_is_no_builtin() -> None:
    value, site = unmark("def pow(a, b):\n    return b\n\n\ndef fn(x):\n    return ⟦pow(x, 2)⟧\n", gb_id="GB0059")
    assert not propose(site, {PATH: value}, ["spelling"]).mends


def test_a_form_that_needs_a_builtin_that_the_file_has_taken() -> None:
    value, site = unmark(f"{HEAD}def fn(x, sum):\n    return ⟦int(np.sum(x.shape))⟧\n", gb_id="GB0033")
    answer = propose(site, {PATH: value}, ["spelling"])
    assert not answer.mends and "`sum` is a name of the file's own" in answer.declined[0].reason
