"""The opaque rule beyond its examples: one graph without a break under backends that remove dead code, gradients, what is told."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphmend_support
import pytest
import torch
from torch._dynamo.testing import CompileCounter

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.facts.bindings import module_constant
from graphmend_lsp.mending.lowering.outlined import run_of
from graphmend_lsp.mending.rule import DEFAULT_STYLE, Example, Style
from graphmend_lsp.mending.rules.opaque.callee import is_constant
from graphmend_lsp.mending.rules.opaque.examples import EXAMPLES
from graphmend_lsp.mending.rules.opaque.filled import made_as
from graphmend_lsp.mending.rules.opaque.sizes import follows_data, is_fixed
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.model import Mend, Position, Span
from graphmend_lsp.text import Text, apply_edits
from graphmend_lsp.values import Facts, ValueFact
from graphmend_lsp.worker.trials import OPERATORS

from .conftest import PATH, seen_in, unmark


def _loaded(source: str, run: str | None) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "package.model", "__file__": "model.py"}
    exec(compile(source, PATH, "exec"), space)
    exec(compile(run or "", "run.py", "exec"), space)
    return space


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda one: one.title)
def test_the_operator_is_in_the_graph_and_writes_what_the_statements_wrote(case: Example) -> None:
    torch._dynamo.reset()
    before, after = _loaded(unmark(case.before)[0], case.run), _loaded(case.after, case.run)
    compiled = torch.compile(after["fn"], backend="aot_eager", fullgraph=True)
    for call in before["calls"]:
        results = []
        for fn in (before["fn"], compiled):
            inputs = [one.clone().requires_grad_(one.is_floating_point()) for one in call]
            outputs = fn(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            total = sum(one.sum() for one in outputs if one.requires_grad)
            if isinstance(total, torch.Tensor):
                total.backward()
            results.append(([one.detach() for one in outputs], [one.grad for one in inputs]))
        torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def test_a_parameter_of_which_only_its_use_tells_that_it_is_a_tensor_is_told() -> None:
    source = (
        "import torch\n\n\ndef fn(lengths):\n    out = torch.zeros(9)\n"
        "    for one in ⟦lengths.tolist()⟧:\n        out[one] = 1\n    return out\n"
    )
    assert any("`lengths` must be a tensor." in change for change in _mend(source).changes)
    assert not any(
        "must be a tensor" in change for change in _mend(source.replace("(lengths)", "(lengths: torch.Tensor)")).changes
    )


def test_an_import_by_another_name_and_carriage_returns_stay() -> None:
    source = (
        "from __future__ import annotations\nimport torch as th\n\n\ndef fn(lengths: th.Tensor):\n    out = th.zeros(9)\n"
        "    for one in ⟦lengths.tolist()⟧:  # each\n        out[one] = 1\n    return out\n"
    ).replace("\n", "\r\n")
    text = "".join(edit.text for edit in _mend(source).edits)
    assert '@operator("out")\r\n' in text and "lengths: th.Tensor" in text
    text = "".join(edit.text for edit in _mend(source, Style(support=None)).edits)
    assert "@th.library.custom_op(\r\n" in text and "lengths: th.Tensor" in text
    assert "tags=(th.Tag.cudagraph_unsafe,),\r\n" in text  # torch 2.11 takes no tag alone
    assert "\n" not in text.replace("\r\n", "")


def _mend(source: str, style: Style = DEFAULT_STYLE) -> Mend:
    value, site = unmark(source, None, "GB0124")
    answer = propose(site, {PATH: value}, ["opaque"], styles={PATH: style})
    assert answer.mends, [one.reason for one in answer.declined]
    return answer.mends[0]


def test_the_support_module_s_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients of gradients, results in memory of their own, errors where `like` or the operands are others than was said."""
    from graphmend_support import operator

    def grown(x: torch.Tensor, w: torch.Tensor, turns: int) -> tuple[torch.Tensor, torch.Tensor]:
        while x.sum() < 100:
            x = x * w
            turns += 1
        return x, x.sum() + turns

    def slopes(function: Any) -> list[torch.Tensor]:
        x, w = torch.arange(1.0, 5.0, requires_grad=True), torch.tensor(1.5, requires_grad=True)
        y, total = function(x.sin().abs() + 1, w, 3)
        first = torch.autograd.grad((y.sin() * total.sqrt()).sum(), (x, w), create_graph=True)
        second = torch.autograd.grad(first[0].sin().sum(), (x, w), create_graph=True)
        return [*first, *second, *torch.autograd.grad(second[0].sum(), (x, w))]

    def half(x: torch.Tensor) -> torch.Tensor:
        return x[: len(x) // 2] if x.sum() > 100 else x

    def changed(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1) * 2

    called = operator(like=lambda *given: (given[0], given[0].new_empty(())))(grown)
    halved, added = operator(like=lambda x: x)(half), operator(like=lambda x: x)(changed)
    x = torch.ones(4)
    assert halved(x) is x and torch.compile(halved, backend="eager", fullgraph=True)(x) is not x
    expected = slopes(called)  # uncompiled, it is the function
    monkeypatch.setattr(torch, OPERATORS, True, raising=False)
    torch.testing.assert_close(slopes(called), expected, rtol=1e-4, atol=1e-4)
    torch._dynamo.reset()
    compiled = torch.compile(called, backend="eager", fullgraph=True)
    torch.testing.assert_close(slopes(compiled), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError, match=r"the result is \(2,\) torch.float32 on cpu, and \(4,\) torch.float32"):
        torch.compile(halved, backend="eager")(x * 100)
    with pytest.raises(RuntimeError, match="changes what it is given"):
        added(x)
    with torch.autocast("cpu"):
        assert halved(x) is x


def test_an_operator_s_like_names_what_it_reads_and_what_has_no_annotation_is_a_tensor() -> None:
    """Also in a file whose annotations are texts. A ``like`` with names of its own gets every argument, in order."""
    source = """\
import torch
from graphmend_support import operator


@operator(like=lambda wide: wide.new_empty(wide.shape[1]))
def _by_name(start: int, x, wide, many: list[torch.Tensor]):
    return wide[start:].sum(0) * x.sum().item() * len(many)


@operator(like=lambda a, b, c, d: c.new_empty(c.shape[1]))
def _by_place(start: int, x, wide, many: list[torch.Tensor]):
    return wide[start:].sum(0) * x.sum().item() * len(many)


@operator(like=lambda: torch.empty(2))
def _of_nothing(x) -> torch.Tensor:
    return torch.tensor([x.sum().item(), 1.0])


@operator("out")
def _written(x, out, at: int) -> None:
    out[at] = x.sum().item()


def fn(x, wide):
    out = torch.zeros(3)
    _written(x.detach(), out, 1)
    one, two = _by_name(1, x, wide, [x, x]), _by_place(1, x, wide, [x, x])
    return one, two, _of_nothing(x), out * 2
"""
    for head in ("", "from __future__ import annotations\n\n"):
        space = _loaded(head + source, None)
        given = (torch.arange(2.0, requires_grad=True), torch.ones(2, 4, requires_grad=True))
        torch._dynamo.reset()
        found = torch.compile(space["fn"], backend="aot_eager", fullgraph=True)(*given)
        expected = space["fn"](*given)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
        for at in (0, 1, 0):
            slopes = [torch.autograd.grad(each[at].sum(), given[1], retain_graph=True) for each in (found, expected)]
            assert torch.equal(slopes[0][0], slopes[1][0])


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.slow
def test_an_operator_takes_what_inference_mode_makes(backend: str) -> None:
    from graphmend_support import operator

    def sorted_by_sign(x: torch.Tensor) -> torch.Tensor:
        return torch.stack(sorted(x, key=lambda one: one.item()))

    called = operator(like=lambda x: x)(sorted_by_sign)
    torch._dynamo.reset()
    x = torch.tensor([3.0, -1.0, 2.0])
    with torch.inference_mode():
        compiled = torch.compile(lambda x: called(x.sin() + 1) * 2, backend=backend, fullgraph=True)
        torch.testing.assert_close(compiled(x), sorted_by_sign(x.sin() + 1) * 2)


@pytest.mark.slow
def test_an_argument_of_a_kind_that_no_run_showed_breaks_the_graph_as_before() -> None:
    from graphmend_support import operator

    def lowered(x: torch.Tensor, marks: torch.Tensor, many: list[torch.Tensor], scale: float) -> torch.Tensor:
        return x * scale if marks.sum().item() > 1 else x * len(many)

    numbers, truths = torch.ones(3), torch.ones(3, dtype=torch.bool)
    called = operator(like=lambda x, *_: x, flags=("marks",))(lowered)
    others = [
        (truths, truths, [numbers], 0.5),
        (numbers.to(torch.complex64), truths, [numbers], 0.5),
        (numbers, truths, [numbers, truths], 0.5),
        (numbers.int(), truths, [numbers], 3),
        (numbers, truths, [numbers], torch.tensor(0.5)),
    ]

    def compiled(backend: str = "eager", *, fullgraph: bool = False) -> Any:
        torch._dynamo.reset()
        return torch.compile(lambda *given: called(*given), backend=backend, fullgraph=fullgraph)

    for given in [(numbers, truths, [numbers], 0.5), (numbers.half(), numbers, [numbers, numbers.int()], 2.0)]:
        assert compiled(fullgraph=True)(*given).equal(lowered(*given)), given
    for given in others:
        expected, found = lowered(*given), compiled()(*given)
        assert found.dtype == expected.dtype and found.equal(expected), given
        with pytest.raises(torch._dynamo.exc.TorchDynamoException):
            compiled(fullgraph=True)(*given)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_call_without_elements_runs_the_function(backend: str) -> None:
    """Its loops do not run, so what it gives has no history. A size that depends on data breaks no graph."""
    from graphmend_support import operator

    def filled(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(x)
        for at in range(x.shape[0]):
            out[at] = x[at] + x[at].item()
        return out

    called = operator(like=lambda x: x)(filled)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: called(x) * 2, backend=backend, fullgraph=True)
    for size in (3, 0, 5, 0, 1):
        x = torch.arange(float(size), requires_grad=True)
        found = compiled(x)
        assert found.requires_grad == bool(size) and found.equal(filled(x) * 2)

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        chosen = torch.compile(lambda x: called(x[x > 1]) * 2, backend=backend, fullgraph=True)
        for size in (4, 2, 6):
            x = torch.arange(float(size))
            assert chosen(x).equal(filled(x[x > 1]) * 2)


def test_a_file_that_is_loaded_again_leaves_the_operators_of_its_first_copy_alone() -> None:
    """Reloaded after an edit, or a second copy under the same name: torch frees an operator when another gets its name."""
    text = (
        "import torch\nfrom graphmend_support import number, operator\n\n\n@operator(like=lambda x: x)\n"
        "def scaled(x: torch.Tensor) -> torch.Tensor:\n    return x * (FACTOR + x.sum().item() * 0)\n\n\n"
        "@number(float)\ndef factor(x: torch.Tensor) -> float:\n    return FACTOR + x.sum().item() * 0\n"
    )

    def copy(value: float) -> Any:
        space = _loaded(text, f"FACTOR = {value}\n")
        return lambda x: space["scaled"](x) + space["factor"](x)

    x = torch.ones(3, requires_grad=True)
    torch._dynamo.reset()
    first = torch.compile(copy(2.0), backend="eager", fullgraph=True)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        for _ in range(3):
            first(x).sum().backward()
            second = torch.compile(copy(7.0), backend="eager", fullgraph=True)
            assert second(x).tolist() == [14.0] * 3
            assert first(x).tolist() == [4.0] * 3
            x.grad = None
            first(x).sum().backward()
            assert x.grad is not None and x.grad.tolist() == [2.0] * 3


def test_operators_have_tags_as_every_torch_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.library.custom_op` of torch 2.11 takes a sequence of tags; later ones also a tag alone."""
    from graphmend_support import number, operator

    strict, tags = torch.library.custom_op, list[object]()

    def custom_op(*given: Any, **named: Any) -> Any:
        tags.extend([*named["tags"]])
        return strict(*given, **named)

    monkeypatch.setattr(torch.library, "custom_op", custom_op)

    def tagged(x: torch.Tensor) -> torch.Tensor:
        return x + x.sum().item()

    def tagged_in_place(x: torch.Tensor) -> None:
        x.add_(1)

    operator(like=lambda x: x)(tagged)
    operator("x")(tagged_in_place)
    number(float)(tagged)
    assert tags == [torch.Tag.cudagraph_unsafe] * 4  # one of them for gradients


FILLED = "for at in range(2):\n    y[ends[at] : ends[at] + 1] = ⟦x[ends[at] : ends[at] + 1]⟧"


@pytest.mark.parametrize(
    ("lines", "like"),
    [
        ("y = torch.zeros(size)\n" + FILLED, "torch.zeros(size)"),
        ("y = x.new_full((size,), 3)\n" + FILLED, "x.new_full((size,), 3)"),
        ("y = torch.zeros_like(x)\n" + FILLED, "torch.zeros_like(x)"),
        ("y = torch.zeros(size)\n" + FILLED + "\ny.resize_(3)", "torch.zeros(size)"),
        ("y = torch.zeros(size)\nif size:\n    y = torch.ones(4)\n" + FILLED, "y"),
        ("y = torch.zeros(size + 1, dtype=torch.float32)\n" + FILLED, "torch.zeros(size + 1, dtype=torch.float32)"),
        ("y = torch.zeros(int(ends.max()))\n" + FILLED, "y"),
        ("y = torch.zeros(ends.max())\n" + FILLED, "y"),
        ("y = torch.full((size,), size)\n" + FILLED + "\n    size = 3", "torch.full((size,), size)"),
        ("if size: size = 3\ny = torch.full((size,), size)\n" + FILLED, "torch.full((size,), size)"),
        ("y = torch.zeros(size)\n" + FILLED + "\n    y += 1", "torch.zeros(size)"),
        ("y = x * 2\n" + FILLED, "y"),
        ("y = x\n" + FILLED, None),
        ("y = x.view(4)\n" + FILLED, None),
        ("y = torch.zeros(size)\nz = y\n" + FILLED + "\nx = x + z", None),
    ],
)
def test_a_new_tensor_that_statements_fill_is_made_in_the_operator(lines: str, like: str | None) -> None:
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    value, site = unmark(f"import torch\n\n\ndef fn(x, ends, size):\n{body}    return y * 2\n", None, "GB0124")
    facts = seen_in(value, (("x", "float32 4"), ("y", "float32 4"), ("ends", "int64 2"), ("size", "int")))
    mends = propose(site, {PATH: value}, ["opaque"], facts).mends
    texts = [edit.text for mend in mends for edit in mend.edits if ": " in edit.text and "@operator" in edit.text]
    assert [text.split("@operator(like=")[1].splitlines()[0].split(": ", 1)[1] for text in texts] == (
        [f"{like})"] if like else []
    )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("y = torch.split(x, ⟦x[:1].int().tolist()⟧ + [3])[0]", "any_size()"),
        ("y = x[: ⟦int(x[0])⟧ + 3]", "any_size()"),
        (
            "size = 4\nfor one in ⟦x.long().tolist()⟧:\n    size = max(size, one)\ny = torch.zeros(size)\ny[0] = x[0]",
            "any_size()",
        ),
        ("y = torch.zeros(⟦x.max().long()⟧)\ny[0] = x[0]", "any_size()"),
        ("y = torch.zeros_like(x[⟦x > 0⟧])\ny[0] = x[0]", "any_size()"),
        ("y = x[⟦x > 0⟧]", "any_size()"),
        ("y = x + 1\nwhile ⟦y.sum() > 100⟧:\n    y = torch.cat([y, y])", "any_size()"),
        ("y = x + 1\nwhile ⟦y.sum() > 100⟧:\n    y = y[1:]", "any_size()"),
        ("y = x\nwhile ⟦y.sum() > 100⟧:\n    y = y / 2", "may be a tensor that other code holds"),
        ("y = x * ⟦int(x.sum())⟧", ""),
    ],
)
def test_what_no_call_shows_is_left_open_or_told(lines: str, words: str) -> None:
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    value, site = unmark(f"import torch\n\n\ndef fn(x):\n{body}    x.add_(1)\n    return y * 2\n", None, "GB0007")
    facts = seen_in(value, (("x", "float32 4"), ("y", "float32 4")))
    mends = propose(site, {PATH: value}, ["opaque"], facts).mends
    told = " ".join(mends[0].cautions)
    is_open = any(".new_empty((any_size(),))" in edit.text for edit in mends[0].edits)
    assert is_open == (words == "any_size()") and (is_open or told.count(words or "`") == bool(words)), told


def test_what_decides_in_functions_that_are_called_must_be_seen_on_both_sides() -> None:
    """On the side that is not taken other tensors have a gradient."""
    source = """\
import torch


def inner(rows, weight, wide=False):
    if wide:
        rows = rows * 2
    if rows.shape[0] > 100:
        raise ValueError("too many")
    if rows.sum() > 0:
        return rows * weight
    return rows


def fn(x, weight):
    out = torch.zeros_like(x)
    out[⟦x > 0⟧] = inner(x[x > 0], weight)
    if x.dtype == out.dtype:
        out = out + 1
    return out
"""
    value, site = unmark(source, None, "GB0036")
    seen = seen_in(value, (("x", "float32 4"), ("weight", "float32 4")))
    (mend,) = propose(site, {PATH: value}, ["opaque"], seen).mends
    assert [Text(value).slice(span) for _, span in mend.conditions] == ["rows.sum() > 0"]
    value, site = unmark(source.replace("weight)\n    if x", "weight, x.sum() > 0)\n    if x"), None, "GB0036")
    seen = seen_in(value, (("x", "float32 4"), ("weight", "float32 4")))
    (mend,) = propose(site, {PATH: value}, ["opaque"], seen).mends
    assert [Text(value).slice(span) for _, span in mend.conditions] == ["wide", "rows.sum() > 0"]


@pytest.mark.parametrize("style", [DEFAULT_STYLE, Style(support=None)])
def test_methods_of_one_name_have_operators_of_their_own(style: Style) -> None:
    """Also where both mends are made together, so that neither sees the other's operator."""
    methods = "".join(
        f"class {name}:\n    def fill(self, x: torch.Tensor, lengths: torch.LongTensor):\n        out = torch.zeros(9)\n"
        f"        for one in lengths.tolist():\n            out[one] = {number}\n        return out * 2\n\n\n"
        for name, number in (("First", 1), ("Second", 2))
    )
    source = f"import torch\n\n\n{methods}def fn(x, lengths):\n    return First().fill(x, lengths) + Second().fill(x, lengths)\n"
    whole = []
    for at in (source.index("lengths.tolist()"), source.rindex("lengths.tolist()")):
        marked = f"{source[:at]}⟦lengths.tolist()⟧{source[at + len('lengths.tolist()') :]}"
        text, site = unmark(marked, "fn", "GB0124")
        whole += propose(site, {PATH: text}, ["opaque"], styles={PATH: style}).mends[0].edits
    after = apply_edits(source, tuple(dict.fromkeys(whole)))
    assert "First._fill_operator(lengths, out)" in after and "Second._fill_operator(lengths, out)" in after
    torch._dynamo.reset()
    space, before = _loaded(after, None), _loaded(source, None)
    compiled = torch.compile(space["fn"], backend="aot_eager", fullgraph=True)
    for lengths in (torch.tensor([1, 3]), torch.tensor([0])):
        assert torch.equal(compiled(torch.ones(1), lengths), before["fn"](torch.ones(1), lengths))


SIZES = {  # statements in front of what makes the tensor, and the text that the operator's fake makes it with; None: it is not known
    "rows = n.shape[0]": "torch.empty((n.shape[0], longest))",
    "less = n.shape[0] - 1; rows = less * 2": "torch.empty(((n.shape[0] - 1) * 2, longest))",
    "rows = n.shape[0]; n = n[1:]": "torch.empty((n.shape[0], longest))",
    "n = n[1:]; rows = n.shape[0]": None,
    "rows = n.shape[0]; rows = rows + 1": "torch.empty((n.shape[0] + 1, longest))",
    "rows = n.shape[0]; rows += 1": None,
    "longest = longest + 1; rows = longest": "torch.empty((longest + 1, longest + 1))",
    "rows = int(n[0])": None,
    "rows = other.shape[0]": None,
    "rows = n.shape[0]\n    if longest > 2: rows = 3": None,
}


@pytest.mark.parametrize(("lines", "made"), SIZES.items(), ids=SIZES)
def test_a_tensor_is_made_of_the_sizes_that_names_in_front_of_it_hold(lines: str, made: str | None) -> None:
    text = f"import torch\ndef f(n, longest):\n    {lines}\n    made = torch.empty((rows, longest))\n    made[0] = 1\n"
    source = read("/p/a.py", text)
    assert isinstance(source, Source)
    function = source.tree.body[1]
    assert isinstance(function, ast.FunctionDef)
    assert made_as(source, function.body, "made", {"n"}, {"longest"}) == made


@pytest.mark.parametrize(
    ("size", "fixed"),
    [
        ("x.shape[0]", True), ("x.shape[-1]", True), ("x.shape[:2]", True), ("x.shape[dim]", True), ("x.shape[n.ndim - 1]", True),
        ("x.shape[self.dim]", True), ("x.size(1)", True), ("x.size(dim=0)", True), ("x.shape[n[0]]", False), ("x.size(n[0])", False),
        ("x.shape[int(n.sum())]", False), ("x.size(dim=n[0])", False), ("n[0]", False),
    ],
)  # fmt: skip
def test_a_size_that_a_tensor_chooses_is_no_fixed_size(size: str, fixed: bool) -> None:
    text = f"import torch\ndef f(self, x: torch.Tensor, n: torch.Tensor, dim: int):\n    return torch.zeros({size})\n"
    source = read("/p/a.py", text)
    assert isinstance(source, Source)
    [call] = [
        one for one in ast.walk(source.tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "torch.zeros"
    ]
    assert is_fixed(source, call.args[0], tensors=False) == fixed
    function = source.tree.body[1]
    assert isinstance(function, ast.FunctionDef)
    assert (follows_data(source, function.body) is None) == fixed


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_size_that_only_values_decide(backend: str) -> None:
    """Gradients flow through it; where a size that was said is another one, nothing is given."""
    from graphmend_support import any_size, operator

    def chosen(x: torch.Tensor, limit: float) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [row * 2 for row in x if row.sum() > limit]
        return torch.stack(rows or [x[0] * 0]), x.sum(0)

    called = operator(like=lambda x: (x.new_empty((any_size(), x.shape[1])), x.new_empty(x.shape[1])))(chosen)
    wrong = operator(like=lambda x: (x.new_empty((any_size(), 3)), x.new_empty(x.shape[1])))(chosen)

    def program(x: torch.Tensor, function: Any = called) -> torch.Tensor:
        rows, total = function(x.sin(), 0.0)
        return (rows.cos() * total).sum() + rows.shape[0]

    torch._dynamo.reset()
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for seed in range(4):
        x = torch.randn(6, 4, generator=torch.Generator().manual_seed(seed), requires_grad=True)
        results = [one(x) for one in (program, compiled)]
        torch.testing.assert_close(*results)
        torch.testing.assert_close(*[torch.autograd.grad(one, x)[0] for one in results])
    if backend != "inductor":
        with pytest.raises(RuntimeError, match=r"\(\d, 4\) torch.float32 on cpu, and \(\d, 3\)"):
            torch.compile(lambda x: wrong(x, 0.0)[0] + 1, backend=backend)(torch.ones(6, 4))


@pytest.mark.slow
def test_it_takes_a_device_and_no_setting_and_a_flag_that_decides_the_result_with_one_value_only() -> None:
    from graphmend_support import any_size, operator

    def listed(x: torch.Tensor, device: torch.device, dtype: torch.dtype, wide: bool) -> torch.Tensor:
        rows = [torch.full((2,), one, device=device, dtype=dtype) for one in x.tolist() if one > 0]
        return torch.stack([torch.cat([one, one]) if wide else one for one in rows])

    like = lambda x, dtype: x.new_empty((any_size(), 2), dtype=dtype)  # noqa: E731
    called = operator(like=like, only={"wide": False})(listed)
    for wide in (False, True):
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(lambda x, wide: called(x.sin(), x.device, x.dtype, wide) * 2, backend=counter)
        for x in (torch.tensor([1.0, -1.0, 2.0, 3.0]), torch.tensor([-1.0, 1.0, -2.0, -3.0])):
            assert compiled(x, wide).equal(listed(x.sin(), x.device, x.dtype, wide) * 2)
        assert (counter.frame_count > 1) == wide


def test_the_statements_reach_to_where_a_name_of_a_list_becomes_a_tensor() -> None:
    """`found` holds a list in front of the line that binds it anew, and a value of another call before all of them."""
    lines = (
        "    if found is not None:\n        return found\n    found = []\n    for one in ⟦n.tolist()⟧:\n"
        "        found.append(x[:one])\n    found = torch.cat(found)\n"
    )
    source = f"import torch\n\n\ndef fn(x, n, found=None):\n{lines}    return found.sin() + 1\n"
    value, site = unmark(source, None, "GB0033")
    facts = seen_in(value, (("x", "float32 3"), ("n", "int64 2"), ("found", "float32 ?"))).files[PATH]
    listed = ValueFact(("list",))
    given = Span(Position(10, 23), Position(10, 28))
    assert given in facts.values
    facts = replace(facts, values={**facts.values, given: listed})
    (mend,) = propose(site, {PATH: value}, ["opaque"], Facts({PATH: facts})).mends
    inside = apply_edits(value, mend.edits).partition("@operator")[2]
    assert "    found = torch.cat(found)\n    return found\n" in inside and "is not None" not in inside


@pytest.mark.parametrize(
    ("made", "held"),
    [
        ("(x[: n[0].item()] * 2).long().reshape(-1)", False), ("(x[: n[0].item()] + 1).unique_consecutive()", False),
        ("x[: n[0].item()].long()", True), ("(x[: n[0].item()] * 2).set_(x)", True), ("pairs[n[0].item()].long()", True),
    ],
)  # fmt: skip
def test_a_part_of_a_new_tensor_without_a_name_is_new(made: str, held: bool) -> None:
    source = f"import torch\n\n\ndef fn(x, n, pairs):\n    out = {made.replace('n[0].item()', '⟦n[0].item()⟧')}\n    return out, x\n"
    value, site = unmark(source, None, "GB0124")
    facts = seen_in(value, (("x", "float32 3"), ("n", "int64 2"), ("out", "int64 2"), ("pairs", "float32 3 2")))
    mends = propose(site, {PATH: value}, ["opaque"], facts).mends
    told = "other code holds" in " ".join(mends[0].cautions) if mends else None
    assert told == held or (mends == () and "set_" in made)


def test_what_would_break_the_graph_behind_the_statements_goes_along() -> None:
    lines = (
        "    found = torch.tensor(⟦n.tolist()⟧)\n    found = torch.unique_consecutive(found)\n    other = found.sum()\n"
    )
    value, site = unmark(f"import torch\n\n\ndef fn(x, n):\n{lines}    return x * other, found\n", None, "GB0033")
    facts = seen_in(value, (("x", "float32 3"), ("n", "int64 2"), ("found", "int64 2"), ("other", "int64")))
    (mend,) = propose(site, {PATH: value}, ["opaque"], facts).mends
    operator, _, behind = apply_edits(value, mend.edits).partition("@operator")[2].partition("def fn")
    assert "unique_consecutive" in operator and "unique_consecutive" not in behind and "other" not in operator
    assert "n.new_empty((any_size(),), dtype=torch.int64)" in "".join(edit.text for edit in mend.edits)


def test_a_container_that_the_statements_fill_is_made_in_the_operator() -> None:
    lines = (
        "    found: list = []\n    other = x * 2\n    for one in ⟦n.tolist()⟧:\n        found.append(other[:, :one])\n"
    )
    source = f"import torch\n\n\ndef fn(x, n):\n{lines}    return torch.cat(found, dim=1).sin() + 1\n"
    value, site = unmark(source, None, "GB0033")
    facts = seen_in(
        value, (("x", "float32 3 8"), ("n", "int64 2"), ("torch.cat(found, dim=1).sin() + 1", "float32 3 11"))
    )
    (mend,) = propose(site, {PATH: value}, ["opaque"], facts).mends
    text = apply_edits(value, mend.edits)
    assert "@operator(like=lambda x: x.new_empty((x.shape[0], any_size())))\n" in text
    assert "    found: list = []\n    other = x * 2\n    for one in n.tolist():\n" in text.partition("@operator")[2]
    assert {one.kind for one in mend.assumes} == {"result-shapes", "dtype"} and not mend.cautions


_KEPT = """\
import torch
from graphmend_support import any_size, operator

@operator(like=lambda x: x.new_empty((any_size(),)))
def grown(x: torch.Tensor) -> torch.Tensor:
    while x.sum() < 100:
        x = x * 2
    return x[x > 1]

x = torch.ones(4, requires_grad=True)
torch.compile(lambda x: grown(x.sin() + 1).cos().sum(), fullgraph=True)(x).backward()
counted = torch._dynamo.utils.counters["aot_autograd"]
print(counted["autograd_cache_hit"], [round(one, 3) for one in x.grad.tolist()])
"""


@pytest.mark.slow
def test_what_inductor_kept_of_another_process_finds_the_operators_of_the_backward_pass(tmp_path: Path) -> None:
    """Nothing traces the backward pass there, so that it cannot make them."""
    program = tmp_path / "program.py"
    program.write_text(_KEPT)
    path = os.pathsep.join([os.path.dirname(graphmend_support.__file__), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for _ in range(2):
        done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        said.append(done.stdout.split(" ", 1))
    (first, gradient), (second, again) = said
    assert (first, second) == ("0", "1") and gradient == again


def test_a_result_that_has_the_size_of_what_is_taken_by_chance_is_left_open() -> None:
    """`few` is as long as `x` in the call that was seen."""
    lines = "    found = []\n    few = x * 2\n    for one in ⟦n.tolist()⟧:\n        few = x[:one] * 2\n        found.append(few)\n"
    source = f"import torch\n\n\ndef fn(x, n):\n{lines}    out = torch.cat(found)\n    return out.sin() + 1, few * 3\n"
    value, site = unmark(source, None, "GB0033")
    seen = (("x", "float32 8"), ("n", "int64 2"), ("out", "float32 11"), ("few", "float32 8"))
    (mend,) = propose(site, {PATH: value}, ["opaque"], seen_in(value, seen)).mends
    assert "(x.new_empty((any_size(),)), x.new_empty((any_size(),)))" in "".join(edit.text for edit in mend.edits)
    assert not mend.cautions


@pytest.mark.parametrize(
    ("sizes", "like"),
    [
        ("5", "x.new_empty((any_size(),))"), ("3", "x.new_empty((any_size(),))"), ("3 2", "x.new_empty((any_size(), any_size()))"),
        ("7 2", "x.new_empty((any_size(), 2))"), ("7 8", "x.new_empty((any_size(), x.shape[0]))"),
    ],
)  # fmt: skip
def test_a_small_size_is_fixed_beside_a_larger_one_alone(sizes: str, like: str) -> None:
    source = "import torch\n\n\ndef fn(x, y):\n    kept = ⟦y[x > 0]⟧\n    return kept * 2\n"
    value, site = unmark(source, None, "GB0036")
    facts = seen_in(value, (("x", "float32 8"), ("y", "float32 8"), ("kept", f"float32 {sizes}")))
    (mend,) = propose(site, {PATH: value}, ["opaque"], facts).mends
    assert f"@operator(like=lambda x: {like})\n" in "".join(edit.text for edit in mend.edits) and not mend.cautions


@pytest.mark.parametrize(
    ("start", "change", "offered"),
    [
        ("[x]", "found[0] += one", False),  # it is the caller's `x` that changes
        ("{'a': x}", "found['a'] *= one", False),
        ("[0.0]", "found[0] = one", True),
    ],
)
def test_an_element_of_a_container_does_not_change_in_place(start: str, change: str, offered: bool) -> None:
    lines = f"    found = {start}\n    y = x\n    for one in ⟦n.tolist()⟧:\n        {change}\n        y = y * one\n"
    value, site = unmark(f"import torch\n\n\ndef fn(x, n):\n{lines}    return y.sin() + 1\n", None, "GB0033")
    facts = seen_in(value, (("x", "float32 8"), ("n", "int64 2"), ("y", "float32 8")))
    answer = propose(site, {PATH: value}, ["opaque"], facts)
    assert bool(answer.mends) == offered, answer.declined


@pytest.mark.parametrize(
    ("value", "is_known"),
    [
        ('torch.device("cpu")', True),
        ("torch.float32", True),
        ('"cpu" if torch.cuda.is_available() else "cuda"', True),
        ("-2 * 3.5", True),
        ("math.pi", True),
        ('float("inf")', True),
        ("[1.0]", False),
        ("make()", False),
        ("2 * make()", False),
    ],
)
def test_what_the_module_binds_once_and_nobody_can_change_is_known(value: str, is_known: bool) -> None:
    source = read(PATH, f"import math\nimport torch\n\nkept = {value}\n\n\ndef fn(x):\n    return x, kept\n")
    assert isinstance(source, Source)
    assert is_constant(source, module_constant(source, _name(source, "kept"))) is is_known


def _name(source: Source, name: str) -> ast.Name:
    return next(
        one for one in source.nodes if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
    )


@pytest.mark.parametrize("more", ["scripted = torch.jit.script(grown)", "kept = [grown]", "print(grown.__code__)"])
def test_a_function_that_is_handed_on_stays_a_plain_one(more: str) -> None:
    case = next(one for one in EXAMPLES if one.title == "a loop as long as data says")
    value, site = unmark(f"{case.before}\n\n{more}\n", case.outermost, case.gb_id)
    (mend,) = propose(site, {PATH: value}, ["opaque"], seen_in(value, case.seen)).mends
    text = apply_edits(value, mend.edits)
    assert "\ndef grown(y):" in text and "\n@operator(like=lambda y: y)\ndef _grown_operator(" in text


@pytest.mark.parametrize(
    ("behind", "gives"),
    [
        ("n += 1\n    return x * n", True),
        ("del n\n    n = 3\n    return x * n", True),
        ("if x.ndim:\n        n += 1\n    return x * n", True),
        ("n = x + 1\n    return x * n", False),
        ("for n in range(2):\n        x = x * n\n    return x", False),
        ("x = x + sum(n for n in range(3))\n    return x", False),
    ],
)
def test_a_name_is_a_result_where_code_behind_reads_it_first(behind: str, gives: bool) -> None:
    text = f"import torch\n\n\ndef fn(x, k):\n    n = k * 0\n    n = k.sum() + 1\n    {behind}\n"
    source = read(PATH, text)
    assert isinstance(source, Source)
    function = source.tree.body[1]
    assert isinstance(function, ast.FunctionDef)
    assert (run_of(source, function, [function.body[1]]).gives == ("n",)) is gives


@pytest.mark.parametrize(("early", "is_told"), [("return y", True), ("return y * 2", False)])
def test_what_is_returned_before_it_is_made_anew_may_be_what_others_hold(early: str, is_told: bool) -> None:
    lines = f"    if ⟦k.sum() > 3⟧:\n        {early}\n    y = y + 1\n    return y\n"
    value, site = unmark(
        f"import torch\n\n\ndef inner(y, k):\n{lines}\n\ndef fn(x, k):\n    return inner(x, k)\n", "fn", "GB0170"
    )
    facts = seen_in(value, (("y", "float32 3"), ("k", "int64 2"), ("y * 2", "float32 3")))
    (mend,) = propose(site, {PATH: value}, ["opaque"], facts).mends
    assert any("may be a tensor that other code holds" in one for one in mend.cautions) is is_told


@pytest.mark.parametrize(
    ("line", "like", "surely"),
    [
        ("rows = torch.where(m > 1)[0]", "m.new_empty((any_size(),), dtype=torch.int64)", True),
        ("rows = torch.where(m > x)[0]", "m.new_empty((any_size(),))", False),  # whose device?
        ("rows = torch.where(torch.isnan(m))[0]", "m.new_empty((any_size(),), dtype=torch.int64)", True),
        ("rows = torch.where(m > 1, m, 0)", "m", False),
    ],
)
def test_a_list_of_chosen_elements_has_one_dimension_of_any_size(line: str, like: str, surely: bool) -> None:
    text = f"import torch\n\n\ndef fn(x, m):\n    {line}\n    return x.index_fill(0, rows, 0.0)\n"
    marked = text.replace(line, f"rows = ⟦{line.removeprefix('rows = ')}⟧")
    value, site = unmark(marked, gb_id="GB0036")
    size = "2" if "m, 0" in line else "?"
    facts = seen_in(value, (("x", "int64 2"), ("m", "int64 2"), ("rows", f"int64 {size}")))
    (mend,) = propose(site, {PATH: value}, ["opaque"], facts).mends
    assert f"@operator(like=lambda m: {like}" in " ".join(apply_edits(value, mend.edits).split()).replace("x, m", "m")
    assert (not mend.assumes) is surely


@pytest.mark.parametrize(
    ("made", "fill", "told"),
    [
        ("self.part(x)", "y[rows] = x[rows] * 2", False),
        ("x.view(-1)", "y[rows] = x[rows] * 2", True),
        ("self.part(x)[0]", "y[rows] = x[rows] * 2", True),
        ("self.part(x)", "y[rows] = x[rows] * 2; y[0] = x[0] * 2", True),  # a hook may have given `x` back
        ("self.part(x)", "y[1:] = x[:-1]", True),
        ("self.part(x)", "y.index_add_(0, rows, x)", True),
    ],
)
def test_what_a_layer_gives_is_no_part_of_what_it_got(made: str, fill: str, told: bool) -> None:
    fill = fill.replace("; ", "\n            ")
    value, site = unmark(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x, rows):\n"
        f"        y = {made}\n        if ⟦len(rows) > 0⟧:\n            {fill}\n        return y.relu()\n",
        gb_id="GB0170",
    )
    facts = seen_in(
        value,
        (
            ("x", "float32 3"), ("y", "float32 3"), ("rows", "int64 2"), ("self.part", "module torch.nn.modules.linear.Linear"),
        ),
    )  # fmt: skip
    found = propose(site, {PATH: value}, ["opaque"], facts)
    said = [*(one for mend in found.mends for one in mend.cautions), *(one.reason for one in found.declined)]
    assert any("`x` may" in one for one in said) is told, said
