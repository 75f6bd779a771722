"""Operators that fill tensors which others hold, and that take what is made of several values."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch
from graphmend_support import operator

from graphmend_lsp.mending import propose

from .conftest import PATH, seen_in, unmark


@operator("scores", like=lambda: ())
def _penalised(scores, ids, sizes: object, bias: object) -> None:  # type: ignore[no-untyped-def]
    for row in range(scores.shape[0]):
        for token in set(ids[row].tolist()):
            scores[row, token] *= 2 + sizes[0][1]
        if bias is not None:
            scores[row] += bias


@operator("scores", like=lambda ids: ids)
def _counted(scores, ids, named: object):  # type: ignore[no-untyped-def]
    for row in range(scores.shape[0]):
        scores[row, int(ids[row].max())] = named["times"] * named["of"].sum()
    return ids + 1


def _made(scores: Any, ids: Any, bias: Any = None) -> Any:
    scores = scores * 2
    _penalised(scores, ids, [(1, 2), (3, 4)], bias)
    return scores.sin()


def _given(scores: Any, ids: Any, bias: Any = None) -> Any:
    _penalised(scores, ids, ((5, 6),), bias)
    return scores.exp()


def _named(scores: Any, ids: Any, bias: Any) -> Any:
    kept = scores[:1]
    more = _counted(scores, ids, {"of": bias, "times": 3})
    return more, kept.cos()


@operator(like=lambda x: x, flags=("boxes",))
def _raised(x, boxes: object):  # type: ignore[no-untyped-def]
    for number, box in enumerate(boxes["of"]):
        x = x + float(box.sum()) * (number + 1) * len(set(box.reshape(-1).tolist()))
    return x


def _of_arrays(scores: Any, ids: Any, _: Any = None) -> Any:
    array = ids.numpy()
    return _raised(scores.cos(), {"of": [array, array > 2]})


def _calls() -> list[tuple[Any, tuple[Any, ...]]]:
    ids = torch.tensor([[0, 3, 3], [1, 4, 2]])
    scores, bias = torch.linspace(-2, 2, 10).reshape(2, 5), torch.linspace(0, 1, 5)
    leaf = scores.clone().requires_grad_()
    return [
        (_made, (leaf, ids)),
        (_made, (leaf, ids, bias.clone().requires_grad_())),
        (_given, (scores, ids)),
        (_given, (scores, ids, bias.clone().requires_grad_())),
        (_given, (scores.t().contiguous().t(), ids)),
        (_named, (scores, ids, bias.clone().requires_grad_())),
        (_named, (scores, ids, bias)),
        (_of_arrays, (leaf, ids)),
    ]


def _shown(function: Any, given: tuple[Any, ...]) -> list[Any]:
    """Results, what became of the arguments, and the gradients of those that are leaves."""
    own = [one.detach().clone().requires_grad_(one.requires_grad) for one in given]
    results = function(*own)
    results = list(results) if isinstance(results, tuple) else [results]
    if traced := [one.sum() for one in results if one.requires_grad]:
        sum(traced).backward()  # type: ignore[union-attr]
    gradients = [one.grad for one in own if one.is_leaf]
    return [*results, *own, *gradients]


@pytest.mark.parametrize("number", range(len(_calls())))
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_graph_does_the_same(backend: str, number: int) -> None:
    torch._dynamo.reset()
    function, given = _calls()[number]
    old, new = _shown(function, given), _shown(torch.compile(function, backend=backend, fullgraph=True), given)
    for one, other in zip(old, new, strict=True):
        assert (one is None) == (other is None)
        assert one is None or (torch.equal(one, other) and one.requires_grad == other.requires_grad)


@pytest.mark.parametrize("case", ["a leaf that asks for its gradient", "elements that share memory"])
def test_what_cannot_be_copied_into_is_filled_as_it_was(case: str) -> None:
    torch._dynamo.reset()
    ids, compiled = torch.zeros(2, 3, dtype=torch.long), torch.compile(_given, backend="eager")
    if case.startswith("a leaf"):
        for function in (_given, compiled):
            with pytest.raises(RuntimeError, match="leaf Variable"):
                function(torch.ones(2, 5, requires_grad=True), ids)
    else:
        one, other = torch.ones(1, 5).expand(2, 5), torch.ones(1, 5).expand(2, 5)
        assert torch.equal(_given(one, ids), compiled(other, ids)) and torch.equal(one, other)


@operator(like=lambda x: x)
def _looked_up(x, named: object):  # type: ignore[no-untyped-def]
    return x * len(named["missing"]) + sum(x.tolist())


def test_a_part_of_another_type_leaves_the_graph() -> None:
    """Inside it would be a plain dict, which has no values of its own."""

    def fn(x: Any) -> Any:
        named: Any = defaultdict(lambda: [1, 2])
        named["one"] = [x]
        return _looked_up(x.sin(), named)

    torch._dynamo.reset()
    x = torch.arange(4.0)
    assert torch.equal(torch.compile(fn, backend="eager")(x), fn(x))


_PROGRAM = """\
import torch


def fn(x, other, ids):
    {line}
    for at in ⟦ids.tolist()⟧:
        x[at] = y[at] + 1
    return x * 2
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("y = other * 2", ""),
        ("y = other", "`y` may share memory with `x`"),
        ("y = other.int()", ""),
        ("y = x", "may be a part of `x`"),
        ("y = x[1:]", "may be a part of `x`"),
        ("z = x[1:]; y = z.view(3)", "may be a part of `x`"),
        ("y = other; x = y[1:]", "may be a part of `x`"),
    ],
)
def test_what_is_read_may_not_be_a_part_of_what_is_filled(line: str, said: str) -> None:
    value, site = unmark(_PROGRAM.format(line=line), None, "GB0033")
    dtype = "int32 4" if ".int()" in line else "float32 4"
    seen = (("x", "float32 4"), ("other", "float32 4"), ("y", dtype), ("ids", "int64 2"))
    found = propose(site, {PATH: value}, ["opaque"], seen_in(value, seen))
    words = [text for one in found.mends for text in one.cautions] + [one.reason for one in found.declined]
    assert bool(words) == bool(said) and all(said in one for one in words), (found, words)


_FILLING = """\
import torch


def fn(x, mask, ids):
{lines}
    return x * 2, y
"""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("y = x * 2\nfor at in ⟦ids.tolist()⟧:\n    y[at][mask] = 1", "return y"),
        ("for at in ⟦ids.tolist()⟧:\n    x[at][mask] = 1\ny = mask", '"x"'),
        ("for at in ⟦ids.tolist()⟧:\n    x[at].zero_()\ny = mask", '"x"'),
        ("for at in ⟦ids.tolist()⟧:\n    x[at].squeeze_()\ny = mask", None),
        ("y = [x]\nfor at in ⟦ids.tolist()⟧:\n    y[0][at] = 1", None),
        ('y = x * 2\nfor at in ⟦ids.tolist()⟧:\n    """A remark\nover lines"""\n    y[at] = 1', "return y"),
        ("y = x * 2\nfor at in ⟦ids.tolist()⟧:\n    kept = at\n    y[kept] = 1\n    del kept", "return y"),
        ("y = ⟦x[0][mask]⟧", "any_size()"),
    ],
)
def test_parts_of_parts_are_filled(lines: str, said: str | None) -> None:
    text = "".join(f"    {line}\n" for line in lines.split("\n")).rstrip("\n")
    value, site = unmark(_FILLING.format(lines=text), None, "GB0033")
    seen = (("x", "float32 4 3"), ("y", "float32 4 3"), ("mask", "bool 3"), ("ids", "int64 2"))
    seen = seen if "y = ⟦" not in lines else (seen[0], ("y", "float32 2"), *seen[2:])
    found = propose(site, {PATH: value}, ["opaque"], seen_in(value, seen))
    texts = "".join(edit.text for one in found.mends for edit in one.edits)
    assert (said in texts) if said else not found.mends, (found, texts)
