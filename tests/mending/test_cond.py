"""The cond rule beyond its examples: what goes in and out of the sides, places, layouts, when it is asked, gradients."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.text import apply_edits

from .asked import Asked, method
from .conftest import PATH, function_of, unmark

_LAYERS = "    for layer in self.layers:\n"

ASKED = Asked("cond")
_answer, _after, _reason, _method = ASKED.answer, ASKED.after, ASKED.reason, method


@pytest.mark.parametrize(
    "body",
    [
        "if ⟦x.sum() > 0⟧:\n    x = x + 1\nreturn x",
        "if ⟦x.sum() > 0⟧:\n    y = x + 1\nelse:\n    y = x - 1\nreturn y",
        "return x * 2 if ⟦x.sum() > 0⟧ else x",
        "while ⟦x.sum() > 0⟧:\n    x = self.big(x)\nreturn x",
        "if self.big(x).shape[0] > 3:\n    x = x * 2\nreturn ⟦x.item()⟧",
    ],
)
def test_nothing_is_said_where_it_is_not_wanted(body: str) -> None:
    """Cheap sides are `torch.where`'s, and so is the word on loops."""
    _, answer = _answer(_method(body))
    assert answer.mends == answer.declined == ()


def test_it_stands_behind_where() -> None:
    _, answer = _answer(_method("if ⟦x.min() > 0⟧:\n    x = torch.log(x)\nreturn x"), ())
    assert [one.rule for one in answer.mends] == ["where", "where", "cond"]


@pytest.mark.parametrize(
    "value", ["(x - 9).norm() * x", "x / x.std()", "torch.cdist(x, x)", "torch.linalg.vector_norm(x) * x"]
)
def test_a_gradient_that_where_would_make_nan(value: str) -> None:
    _, answer = _answer(_method(f"if ⟦x.sum() > 0⟧:\n    x = {value}\nelse:\n    x = x * 2\nreturn x"))
    assert [one.rule for one in answer.mends] == ["cond"]


def test_it_keeps_no_last_resort_away() -> None:
    source = _method(f"if ⟦x.sum() > 0⟧:\n{_LAYERS}        x = layer(x)\nreturn x")
    _, alone = _answer(source, ("isolate",))
    _, answer = _answer(source, ())
    assert [one.rule for one in answer.mends][:1] == ["cond"]
    assert [one for one in answer.mends if one.rule == "isolate"] == list(alone.mends)


@pytest.mark.parametrize(
    ("test", "predicate", "guard"),
    [
        ("⟦x.any()⟧", "x.any()", ""),
        ("not ⟦x.any()⟧", "~x.any()", ""),
        ("⟦x.sum()⟧", "x.sum() != 0", ""),
        ("⟦x.max().item()⟧ > 0.1", "x.max().double() > 0.1", ""),
        ("n > 3 and ⟦x.any()⟧", "x.any()", " and n > 3"),
        ("⟦x.any()⟧ and x.sum() > 3", "x.any() & (x.sum() > 3)", ""),
    ],
)
def test_condition(test: str, predicate: str, guard: str) -> None:
    plain = test.replace("⟦", "").replace("⟧", "")
    line = f"    x = torch.cond({predicate}, lambda: self.big(x), lambda: x.clone())\n"
    if len(line) > 88 - 7:
        line = line.replace("cond(", "cond(\n        ").replace(".clone())", ".clone()\n    )")
    assert _after(f"if {test}:\n    x = self.big(x)\nreturn x", "self, x, n: int") == (
        f"if torch.compiler.is_compiling() and not self.training{guard}:\n"
        f"{line}elif {plain}:\n    x = self.big(x)\nreturn x\n"
    )


def test_a_name_that_only_one_side_sets_comes_out_of_both() -> None:
    after = _after(
        f"y = x * 2\nif ⟦x.sum() > 0⟧:\n{_LAYERS}        x = layer(x)\nelse:\n    y = self.big(y)\nreturn x + y"
    )
    assert (
        "def positive(x, y):\n    for layer in self.layers:\n        x = layer(x)\n    return x, y.clone()\n" in after
    )
    assert "def otherwise(x, y):\n    y = self.big(y)\n    return x.clone(), y\n" in after
    assert "x, y = torch.cond(x.sum() > 0, positive, otherwise, (x, y))" in after
    assert after.endswith("else:\n    x, y = positive(x, y) if x.sum() > 0 else otherwise(x, y)\nreturn x + y\n")


def test_other_names_on_the_two_sides_are_not_taken_for_one() -> None:
    after = _after("a = x\nif ⟦x.sum() > 0⟧:\n    a = self.big(x)\nelse:\n    b = self.small(x)\nreturn a")
    assert "def otherwise(a):\n    b = self.small(x)\n    return a.clone()\n" in after


def test_what_the_next_turn_reads_comes_out() -> None:
    body = "n = torch.zeros(())\nfor _ in range(3):\n    if ⟦x.sum() > 0⟧:\n        n = n + 1\n        x = self.big(x) * n\nreturn x"
    after = _after(body)
    assert "        return n, x\n" in after
    assert "x.sum() > 0, positive, lambda n, x: (n.clone(), x.clone()), (n, x)\n" in after
    assert "    elif x.sum() > 0:\n        n, x = positive(n, x)\nreturn x\n" in after


def test_what_is_only_added_to_behind_comes_out() -> None:
    after = _after("if ⟦x.sum() > 0⟧:\n    h = self.big(x)\n    y = h * 2\nelse:\n    y = -self.small(x)\ny += 1")
    assert "return y\n" in after and "y = torch.cond(x.sum() > 0, positive, otherwise)" in after


def test_text_of_the_sides_stays() -> None:
    body = (
        "# above\n"
        "if ⟦x.sum() > 0⟧:  # taken\n"
        "    h = self.big(  # inside\n"
        "        x\n"
        "    )\n"
        "\n"
        "    x = h * 2  # twice\n"
        "else:  # not taken\n"
        "    # nothing\n"
        "    x = self.small(x)  # once\n"
        "return x"
    )
    after = _after(body)
    for note in ("# above", "# taken", "# inside", "# twice", "# not taken", "# nothing", "# once"):
        assert after.count(note) == 1
    assert after.startswith(
        "# above\ndef positive(x):  # taken\n    h = self.big(  # inside\n        x\n    )\n\n    x = h * 2"
    )
    assert "def otherwise(x):  # not taken\n    # nothing\n    x = self.small(x)  # once\n    return x\n" in after


def test_returns_inside_a_side() -> None:
    after = _after(
        "if ⟦x.sum() > 0⟧:\n    if self.fast:\n        return x\n    else:\n        return self.big(x)\nreturn self.small(x)"
    )
    assert "    if self.fast:\n        return x.clone()\n    else:\n        return self.big(x)\n" in after
    assert after.endswith("else:\n    return positive() if x.sum() > 0 else otherwise()\n")


def test_line_ends_are_the_files() -> None:
    source = _method("if ⟦x.sum() > 0⟧:\n    h = self.big(x)\n    x = h * 2\nreturn x").replace("\n", "\r\n")
    value, answer = _answer(source)
    new = apply_edits(value, answer.mends[0].edits)
    assert new.count("\n") == new.count("\r\n")


def test_new_names_are_new() -> None:
    after = _after("positive = 1\nif ⟦x.sum() > 0⟧:\n    h = self.big(x)\n    x = h * 2\nreturn x * positive")
    assert "def positive_2(x):" in after and "torch.cond(x.sum() > 0, positive_2, lambda x: x.clone(), (x,))" in after


def test_torch_is_imported_where_it_is_not() -> None:
    source = "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
    source += "        if ⟦x.sum() > 0⟧:\n            x = self.big(x)\n        return x\n"
    value, answer = _answer(source)
    new = apply_edits(value, answer.mends[0].edits)
    assert new.startswith("import torch\nfrom torch import nn\n")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if ⟦x.sum() > 0⟧: x = self.layers[0](x)\nelse:\n    pass\ny = 1\nx += y\nreturn x", "may have another name"),
        ("if ⟦x.sum() > 0⟧:\n    h = self.layers[0](x); y = h\nelse:\n    y = None\nreturn y", "which is no tensor"),
        ("if ⟦x.sum() > 0⟧:\n    y = self.layers[0](x)\nreturn y", "may have no value when its side is not taken"),
        ("n = x\nfor _ in range(2):\n    if ⟦x.sum() > 0⟧:\n        m = m + 1\n        x = self.layers[0](x)\nreturn x", "`m` may have no value"),
        ("if ⟦x.sum() > 0⟧:\n    self.layers.append(x)\nreturn x", "may only compute"),
        ("if ⟦x.sum() > 0⟧:\n    x = self.layers.update(x)\nreturn x", "effects are not known"),
        ("if ⟦x.sum() > 0⟧:\n    x = self.layers[0](x, (k := 2))\nreturn x * k", "assigns a name"),
        ("global y\nif ⟦x.sum() > 0⟧:\n    y = self.layers[0](x)\nelse:\n    y = self.layers[1](x)\nreturn y", "cannot set what is not local"),
        ("if ⟦x.sum() > 0⟧:\n    y = super().forward(x)\nelse:\n    y = self.layers[0](x)\nreturn y", "means something else"),
        ("y = (self.layers[0](x) if ⟦x.sum() > 0⟧ else x) + 1\nreturn y", "a part of a statement"),
        ("if x is None:\n    y = x\nelif ⟦x.sum() > 0⟧:\n    y = self.layers[0](x)\nelse:\n    y = x\nreturn y", "not of an `elif`"),
        ("for layer in self.layers:\n    if ⟦x.sum() > 0⟧:\n        x = layer(x)\n        break\nreturn x", "leaves a loop"),
        ("if ⟦x.sum() > 0⟧:\n    return self.layers[0](x)\nelse:\n    x = x * 2\nreturn x", "One side returns and the other does not"),
        ("if ⟦x.sum() > 0⟧:\n    x = self.layers[0](x)\nyield x", "generator"),
        ("if ⟦x.sum() > 0⟧:\n    z = self.layers[0](x)\n    x[0] = z\nreturn x", "outside of a side"),
    ],
)  # fmt: skip
def test_refusal(body: str, reason: str) -> None:
    assert reason in _reason(body)


@pytest.mark.parametrize(
    "body", ["if ⟦x.sum() > 0⟧:\n    x = self.big(x)\nreturn x", "return self.big(x) if ⟦x.sum() > 0⟧ else x"]
)
def test_the_twin_is_left_alone(body: str) -> None:
    """What runs uncompiled beside `torch.cond` is no break, and is not given another one."""
    value, site = unmark(_method(body))
    new = apply_edits(value, propose(site, {PATH: value}, ["cond"]).mends[0].edits)
    at = new.rindex("x.sum() > 0")
    marked = f"{new[:at]}⟦x.sum() > 0⟧{new[at + len('x.sum() > 0') :]}"
    _, answer = _answer(marked)
    assert answer.mends == ()


_ROOT = """\
import torch


def fn(x):
    if ⟦x.min() > 0⟧:
        y = torch.sqrt(x)
    else:
        y = x * 2
    return y * x
"""


def _gradients(function: Any, value: Any) -> list[Any]:
    import torch

    (first,) = torch.autograd.grad(function(value).sum(), value, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), value)
    return [first.detach(), second]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_uncompiled_gradients_of_gradients_stay(sign: float) -> None:
    import torch

    value, answer = _answer(_ROOT)
    before, after = function_of(value), function_of(apply_edits(value, answer.mends[0].edits))
    x = (torch.arange(1.0, 5.0) * sign).requires_grad_()
    for old, new in zip(_gradients(before, x), _gradients(after, x), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.slow
def test_compiled_gradients_are_the_ones_of_the_side_taken(backend: str) -> None:
    import torch

    value, answer = _answer(_ROOT)
    before, after = function_of(value), function_of(apply_edits(value, answer.mends[0].edits))
    torch._dynamo.reset()
    compiled = torch.compile(after, backend=backend, fullgraph=True)
    for values in ([1.0, 4.0], [-1.0, 4.0], [0.0, -3.0], [2.0, 3.0, 9.0]):
        gradients = []
        for function in (before, compiled):
            x = torch.tensor(values, requires_grad=True)
            function(x).sum().backward()
            gradients.append(x.grad)
        assert torch.equal(*gradients), values


def test_what_is_no_module_does_not_know_whether_it_trains() -> None:
    body = f"if ⟦x.sum() > 0⟧:\n{_LAYERS}        x = layer(x)\nreturn x"
    assert "`Net` is no `nn.Module`" in _reason(body, head="import torch\n\n\nclass Net:\n")
