"""What is surely new and what surely has no gradient, by the table of operators and against torch."""

from __future__ import annotations

import ast

import pytest
import torch

from graphmend_lsp.mending.facts import operators
from graphmend_lsp.mending.facts.aliases import has_no_gradient, makes_new
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.text import apply_edits
from tests.mending.asked import Asked, method

HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef f(x, y):\n"


def _read(value: str) -> tuple[Source, ast.FunctionDef, ast.expr]:
    source = read("model.py", f"{HEAD}    z = {value}\n    return z\n")
    assert isinstance(source, Source)
    function = source.tree.body[2]
    assert isinstance(function, ast.FunctionDef) and isinstance(function.body[0], ast.Assign)
    return source, function, function.body[0].value


@pytest.mark.parametrize(
    "value",
    [
        "torch.zeros(3)", "torch.zeros(4).view(2, 2)", "x.new_zeros(3)", "x.clone().t()", "torch.zeros(3).to(x.device)",
        "x.exp()", "torch.tensor([1, 2])", "torch.cat([x, y])", "torch.zeros(3).where(x > 0, y)",
    ],
)  # fmt: skip
def test_new(value: str) -> None:
    source, _, node = _read(value)
    assert makes_new(source, node)


@pytest.mark.parametrize(
    "value",
    [
        "x", "x.view(2, 2)", "x.float()", "x.contiguous()", "torch.as_tensor(x)", "torch.ravel(x)", "x.max(out=y)",
        "torch.zeros(4).unfold(0, 2, 1)", "torch.zeros(1).expand(3)", "torch.zeros(4).as_strided((3, 2), (1, 1))",
        "torch.zeros(3).frobnicate()", "torch.frobnicate(3)", "torch.zeros(3).split(1)", "torch.zeros(3).tolist()",
        "F.relu(x, True)", "F.dropout(x, 0.5, False)", "torch.add(x, 1, out=y)", "torch.atleast_1d(x)",
    ],
)  # fmt: skip
def test_not_surely_new(value: str) -> None:
    source, _, node = _read(value)
    assert not makes_new(source, node)


@pytest.mark.parametrize(
    ("value", "without"),
    [
        ("x.any()", True), ("torch.full((2,), 1.5)", True), ("torch.linspace(0, 1, 3)", True), ("x.detach().exp()", True),
        ("torch.searchsorted(x, y)", True), ("F.one_hot(x)", True), ("x.new_full((2,), 0)", True), ("x.histc()", True),
        ("torch.LongTensor([1])", True), ("x.shape[0]", True), ("torch.arange(3) * 2", True),
        ("torch.zeros(3, requires_grad=True)", False), ("x.exp()", False), ("torch.frobnicate(3)", False),
        ("x.detach().frobnicate()", False), ("torch.cat([x, x.detach()])", False), ("x.new_zeros(3) + y", False),
        ("F.softmax(x, 0)", False), ("torch.requires_grad_(x.detach())", False),
    ],
)  # fmt: skip
def test_no_gradient(value: str, without: bool) -> None:
    source, function, _ = _read(value)
    assert has_no_gradient(source, function, "z") == without


ALIASES = {
    name: text
    for text in (
        "unfold(0, 2, 1)", "ravel()", "contiguous()", "float()", "to(x.dtype)", "moveaxis(0, 0)", "unflatten(0, (2, 2))",
        "tensor_split(2)[0]", "conj()", "resolve_conj()", "view_as(x)", "detach()", "hsplit(2)[0]",
        "as_strided((2,), (1,))", "expand_as(x)", "reshape_as(x)", "swapaxes(0, 0)", "positive()", "conj_physical()",
        "type_as(x)", "sum_to_size(4)", "narrow(0, 0, 2)", "squeeze()", "resolve_neg()", "split(2)[0]", "expand(2, 4)",
    )
    for name in [text.partition("(")[0]]
}  # fmt: skip


@pytest.mark.parametrize("name", [one.name for one in operators.METHODS.values() if one.is_tensor and not one.is_new])
def test_a_tensor_with_another_holder_is_not_bound_anew(name: str) -> None:
    """``y.add_(1)`` on one side changes `z` too, which may be `y` or a view of it."""
    body = f"y = x + 1\nz = y.{ALIASES.get(name, f'{name}()')}\nif ⟦x.sum() > 0⟧:\n    y.add_(1)\nreturn y * 2 + z"
    _, answer = Asked("where").answer(method(body))
    assert not [edit.text for mend in answer.mends for edit in mend.edits if edit.text.startswith("y = ")]


@pytest.mark.parametrize("name", [*ALIASES, "clone", "round"])
def test_what_is_mended_beside_an_alias_gives_the_same(name: str) -> None:
    text = ALIASES.get(name, f"{name}()")
    marked = method(f"y = x + 1\nz = y.{text}\nif ⟦x.sum() > 0⟧:\n    y.add_(1)\nreturn (y * 2)[:2] + z.sum()")
    value, answer = Asked("where").answer(marked)
    results = []
    for program in (value, *(apply_edits(value, mend.edits) for mend in answer.mends)):
        names: dict[str, type[torch.nn.Module]] = {}
        exec(program, names)
        results.append([names["Net"]()(x) for x in (torch.ones(4) * 0.5, -torch.ones(4) * 0.7)])
    assert len(results) > 1
    for one in results[1:]:
        assert all(torch.equal(was, now) for was, now in zip(results[0], one, strict=True))
