"""The while_loop rule beyond its examples: what is carried and copied, layouts, when it is asked, and what it computes."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from graphmend_lsp.mending.rule import Style
from graphmend_lsp.mending.rules.while_loop.rule import EXAMPLES
from graphmend_lsp.text import apply_edits

from .asked import Asked, method
from .conftest import PATH, unmark

_GUARD = "torch.compiler.is_compiling() and not (torch.is_grad_enabled() or x.requires_grad)"


ASKED = Asked("while_loop", Style(line_length=150, support=None))
_CALLED = Asked("while_loop", Style(line_length=150))
_answer, _after, _reason, _method = ASKED.answer, ASKED.after, ASKED.reason, method


def _together(text: str) -> str:
    """A text without what white space a line that was broken has more."""
    return "".join(text.split())


@pytest.mark.parametrize(
    "body",
    [
        "if ⟦x.sum() > 0⟧:\n    x = x + 1\nreturn x",
        "for _ in range(3):\n    if ⟦x.sum() > 0⟧:\n        break\n    x = x + 1\nreturn x",
        "while x.shape[0] > 3:\n    x = x[⟦x.sum() > 0⟧]\nreturn x",
        f"if {_GUARD}:\n    pass\nelse:\n    while ⟦x.sum() > 0⟧:\n        x = x - 1\nreturn x",
        f"in_graph = {_GUARD}\nif in_graph:\n    pass\nwhile not in_graph and ⟦x.sum() > 0⟧:\n    x = x - 1\nreturn x",
    ],
)
def test_nothing_is_said_of_what_is_no_such_loop(body: str) -> None:
    _, answer = _answer(_method(body))
    assert answer.mends == answer.declined == ()


def test_it_stands_behind_loop_and_before_the_last_resort() -> None:
    _, counted = _answer(_method("n = 0\nwhile n < 9 and ⟦x.sum() < 9⟧:\n    x = x * 2\n    n += 1\nreturn x"), ())
    assert [one.rule for one in counted.mends] == ["loop", "while_loop"]
    source = _method("while ⟦x.sum() < 9⟧:\n    x = x * 2\nreturn x")
    _, alone = _answer(source, ("isolate",))
    _, answer = _answer(source, ())
    assert [one.rule for one in answer.mends] == ["while_loop", *(one.rule for one in alone.mends)]


@pytest.mark.parametrize(
    ("test", "predicate", "guard"),
    [
        ("⟦x.any()⟧", "x.any()", ""),
        ("not ⟦x.any()⟧", "~x.any()", ""),
        ("⟦x.sum()⟧", "x.sum() != 0", ""),
        ("⟦x.max().item()⟧ > 0.1", "x.max().double() > 0.1", ""),
        ("k > 3 and ⟦x.any()⟧", "x.any()", " and k > 3"),
        ("(k > 3 or k == 0) and ⟦x.any()⟧", "x.any()", " and (k > 3 or k == 0)"),
        ("⟦x.any()⟧ and x.sum() > 3", "x.any() & (x.sum() > 3)", ""),
        ("⟦x.any()⟧ or x.sum() > 3", "x.any() | (x.sum() > 3)", ""),
    ],
)
def test_condition(test: str, predicate: str, guard: str) -> None:
    plain = test.replace("⟦", "").replace("⟧", "")
    plain = f"({plain})" if "⟧ or" in test else plain
    after = _after(f"while {test}:\n    x = x - 1\nreturn x", "self, x, k: int")
    assert _together(after) == _together(
        f"in_graph = {_GUARD}{guard}\nif in_graph:\n"
        f"    (x,) = torch.while_loop(lambda x: {predicate}, lambda x: (x - 1,), (x,))\n"
        f"while not in_graph and {plain}:\n    x = x - 1\nreturn x\n"
    )


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("y = x * 2\n    x = y", "x"),  # the turn's own
        ("y = x * 2\n    z = y\n    x = y", "x.clone()"),  # of two names
        ("y = x * 2\n    x = y.view(-1)", "x.clone()"),
        ("y = x * 2\n    x = self.one if self.fast else y", "x.clone()"),
        ("if self.fast:\n        x = x * 2", "x.clone()"),  # which may be left as it was
        ("x, _ = x.max(0)", "x"),
        ("x, _ = x.chunk(2)", "x.clone()"),
        ("for i in range(3):\n        x = x * i", "x"),
        ("for i in range(self.n):\n        x = x * i", "x.clone()"),
        ("x = x.abs()\n    x += 1", "x"),
    ],
)
def test_what_may_be_there_already_is_copied(body: str, given: str) -> None:
    indent = "        " if "clone" in given else "    "  # only a function that copies is the compiled form's alone
    assert f"\n{indent}return {given}\n" in _after(f"while ⟦x.sum() < 9⟧:\n    {body}\nreturn x.abs()")


@pytest.mark.parametrize(
    ("before", "operand"),
    [
        ("pass", "x"),
        ("x = x * 2", "x"),
        ("y = x", "x.clone()"),
        ("x = y", "x.clone()"),
        ("y = x.view(-1)", "x.clone()"),
        ("y = torch.flatten(x)", "x.clone()"),
        ("x = self.start", "x.clone()"),
        ("x = y = torch.zeros(3)", "x.clone()"),
        ("x, y = self.start()", "x.clone()"),
        ("y = x + 1", "x"),
    ],
)
def test_what_another_name_may_hold_goes_in_as_a_copy(before: str, operand: str) -> None:
    after = _after(f"{before}\nwhile ⟦x.sum() < 9⟧:\n    x = x * 2 + y\nreturn x.abs() + y", "self, x, y")
    assert _together(f"lambda x: (x * 2 + y,), ({operand},))") in _together(after)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("while ⟦x.sum() < 9⟧:\n    x = x * 2", "(x,) = while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x,))"),
        (
            "while ⟦x.sum() < 9⟧:\n    x = self.layers[0](x)",
            "(x,) = while_loop(lambda x: x.sum() < 9, lambda x: (self.layers[0](x),), (x,), self.training)",
        ),
        (
            "while (k > 3 or k == 0) and ⟦x.any()⟧:\n    x = x - 1",
            "if k > 3 or k == 0:\n    (x,) = while_loop(lambda x: x.any(), lambda x: (x - 1,), (x,))",
        ),
        (
            "y = x\nwhile ⟦x.any()⟧:  # on\n    x = x - 1  # less",
            "y = x\n\ndef turn(x):  # on\n    x = x - 1  # less\n    return (x,)\n\n"
            "(x,) = while_loop(lambda x: x.any(), turn, (x,))",
        ),
        (
            "if k:\n    while ⟦x.any()⟧:\n        y = x - 1\n        x = y * 2",
            "if k:\n\n    def turn(x):\n        y = x - 1\n        x = y * 2\n        return (x,)\n\n"
            "    (x,) = while_loop(lambda x: x.any(), turn, (x,))",
        ),
    ],
)
def test_a_loop_becomes_a_call_of_the_support_module(body: str, expected: str) -> None:
    value, answer = _CALLED.answer(_method(f"{body}\nreturn x.abs()", "self, x, k: int"))
    after = apply_edits(value, answer.mends[0].edits)
    assert "from graphmend_support import while_loop\n" in after
    assert after.endswith(
        _method(f"{expected}\nreturn x.abs()", "self, x, k: int", "class Net(torch.nn.Module):\n").replace(
            "\n        \n", "\n\n"
        )
    )


@pytest.mark.parametrize(
    "body",
    [
        "while ⟦x.any()⟧ and x.sum() > 3:\n    x = x - 1",  # not tested where the first is false
        "while not ⟦x.any()⟧:\n    x = x - 1",
        "while ⟦x.sum()⟧:\n    x = x - 1",
        "while self.fast and ⟦x.any()⟧:\n    x = x - 1",  # which a module that is called may change
        "while again and ⟦x.any()⟧:\n    x = x - 1",  # which may be a tensor
        "n = 0\nwhile n < 9 and ⟦x.any()⟧:\n    x = x - 1\n    n += 1",
        "while ⟦x.any()⟧:\n    if self.fast:\n        x = x * 2",
    ],
)
def test_it_tests_and_copies_as_the_loop_does_or_is_a_twin(body: str) -> None:
    source = _method(f"{body}\nreturn x.abs()", "self, x, again")
    results = []
    for asked in (_CALLED, ASKED):
        value, answer = asked.answer(source)
        results.append(apply_edits(value, answer.mends[0].edits))
    assert results[0] == results[1] and "torch.while_loop(" in results[0]


def test_names_of_one_turn_are_not_carried() -> None:
    after = _after("h = x\nwhile ⟦x.sum() < 9⟧:\n    h = x * 2\n    x = h + 1\nh = x\nreturn h")
    assert "\n\ndef turn(x):\n    h = x * 2\n    x = h + 1\n    return x\n\nif " in after
    assert after.endswith("else:\n    while x.sum() < 9:\n        x = turn(x)\nh = x\nreturn h\n")


def test_what_is_read_behind_is_carried() -> None:
    after = _after("h = x * 3\nwhile ⟦x.sum() < 9⟧:\n    h = x * 2\n    x = h + 1\nreturn h")
    assert "return h, x\n" in after and "h, x = torch.while_loop(lambda h, x: x.sum() < 9, turn, (h, x))" in after


def test_submodules_stay_out_of_training() -> None:
    after = _after("while ⟦x.sum() < 9⟧:\n    x = self.layers[0](x)\nreturn x.abs()")
    guard = _GUARD.replace("x.requires_grad", "x.requires_grad or self.training")
    assert after.startswith(f"in_graph = {guard}\n")


def test_a_counter_of_turns_is_carried_as_a_tensor() -> None:
    after = _after("n = 3\nwhile ⟦x.sum() < 9⟧ and n > 0:\n    n -= 1  # left\n    y = x * 2\n    x = y + 1\nreturn x")
    assert "    def turn(x):\n        y = x * 2\n        x = y + 1\n        return x\n\n" in after
    assert "lambda x, n: (x.sum() < 9) & (n > 0)" in after and "lambda x, n: (turn(x), n - 1)" in after
    assert after.endswith(
        "while not in_graph and x.sum() < 9 and n > 0:\n    n -= 1  # left\n    y = x * 2\n    x = y + 1\nreturn x\n"
    )


def test_a_counter_beside_several_names() -> None:
    body = "n = 0\ny = x * 3\nwhile ⟦x.sum() < 9⟧ and n < 5:\n    x = x + y\n    y = x * 2\n    # last\n    n += 1\nreturn y"
    after = _after(body)
    assert "        y = x * 2\n        return x, y\n" in after
    assert "lambda x, y, n: (*turn(x, y), n + 1)" in after and "x, y, turns = torch.while_loop(" in after


def test_text_stays() -> None:
    body = "# above\nwhile ⟦x.sum() < 9⟧:  # on\n    # in\n    h = self.big(  # call\n        x\n    )\n\n    x = h * 2  # out\nreturn x"
    after = _after(body)
    for note in ("# above", "# on", "# in", "# call", "# out"):
        assert after.count(note) == 1


def test_line_ends_are_the_files() -> None:
    for body in ("x = x * 2", "h = x * 2\n    x = h + 1", "x = x * 2\n    n += 1"):
        counted = "n < 5 and " if "n" in body else ""
        text = _method(f"n = 0\nwhile {counted}⟦x.sum() < 9⟧:\n    {body}\nreturn x").replace("\n", "\r\n")
        value, answer = _answer(text)
        new = apply_edits(value, answer.mends[0].edits)
        assert new.count("\n") == new.count("\r\n")


def test_new_names_are_new() -> None:
    after = _after("turn = 1\nwhile ⟦x.sum() < 9⟧:\n    h = x * 2\n    x = h + turn\nreturn x")
    assert "def turn_2(x):" in after and "lambda x: (turn_2(x),)" in after


def test_torch_is_imported_where_it_is_not() -> None:
    source = "from torch import nn\n\n\ndef fn(x):\n    while ⟦x.sum() < 9⟧:\n        x = x * 2\n    return x\n"
    value, answer = _answer(source)
    assert apply_edits(value, answer.mends[0].edits).startswith("import torch\nfrom torch import nn\n")


def test_a_float_with_a_default_is_cautioned_of() -> None:
    _, answer = _answer(_method("while ⟦x.sum() < limit⟧:\n    x = x * 2\nreturn x", "self, x, limit=1e2"))
    assert answer.mends[0].cautions == (
        "`limit` must be the same number in every call: `torch.compile` raises for another number.",
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("while ⟦x.sum() < 9⟧:\n    x = x * 2\nelse:\n    x = x + 1\nreturn x", "has an `else`"),
        ("while ⟦x.sum() < 9⟧:\n    if x.shape[0] > 3:\n        continue\n    x = x * 2\nreturn x", "`continue` leaves an iteration"),
        ("while ⟦x.sum() < 9⟧:\n    return x\nreturn x", "`return` leaves an iteration"),
        ("while ⟦x.sum() < 9⟧:\n    y = x\nreturn x", "changes nothing"),
        ("y = x.abs()\nwhile ⟦x.sum() < 9⟧:\n    y = y + 1\nreturn y", "changes nothing that the loop's test reads"),
        ("n = 0\nwhile ⟦x.sum() < 9⟧ and n < 5:\n    x = x * n\n    n += 1\nreturn x", "read for more than the loop's end"),
        ("n = 0\nwhile ⟦x.sum() < 9⟧ and n < 5:\n    x = x * 2\n    n += 1\nreturn n", "read for more than the loop's end"),
        ("n = 0\nwhile ⟦x.sum() < 9⟧ and n < 5:\n    y = x * 2\n    n += 1\n    x = y\nreturn x", "stands between other statements"),
        ("n = 0\nwhile ⟦x.sum() < 9⟧ and n % 5 == 0:\n    x = x * 2\n    n += 1\nreturn x", "is a Python value"),
        ("go = True\nwhile go and ⟦x.sum() < 9⟧:\n    x = x * 2\n    go = x.shape[0] > 3\nreturn x", "`go` is a Python value"),
        ("y = None\nwhile ⟦x.sum() < 9⟧:\n    y = x * 2\n    x = y\nreturn y", "`y` is a Python value"),
        ("y = []\nwhile ⟦x.sum() < 9⟧:\n    y.append(x)\n    x = x * 2\nreturn y", "may only compute"),
        ("while ⟦x.sum() < 9⟧:\n    self.seen = x\n    x = x * 2\nreturn x", "outside of an iteration"),
        ("while ⟦x.sum() < 9⟧:\n    x = update(x) * 2\nreturn x", "effects are not known"),
        ("while ⟦x.sum() < 9⟧:\n    x = torch.nn.functional.dropout(x * 2)\nreturn x", "may draw others"),
        ("while ⟦x.sum() < 9⟧:\n    with torch.no_grad():\n        x = x * 2\nreturn x", "may only compute"),
        ("while ⟦x.sum() < 9⟧:\n    while x.max() < 9:\n        x = x * 2\nreturn x", "may only compute"),
        ("global x\nwhile ⟦x.sum() < 9⟧:\n    x = x * 2\nreturn x", "cannot set what is not local"),
        ("while ⟦x.sum() < 9⟧:\n    x = x * 2\nyield x", "generator"),
        ("y = x\nwhile ⟦x.sum() < 9⟧:\n    x = x * 2\ny += 1\nreturn x", "may have another name"),
        ("while ⟦x.sum() < 9⟧: x = x * 2; y = x; x = x + y\nreturn x", "shares the line"),
        ("while ⟦x.sum() < 9⟧ and x[0] < self.table[self.at]:\n    x = x * 2\nreturn x", "would be evaluated before every iteration"),
        ("while (  # so far\n    ⟦x.sum() < 9⟧\n):\n    x = x * 2\nreturn x", "A comment stands inside the loop's test"),
    ],
)  # fmt: skip
def test_refusal(body: str, reason: str) -> None:
    assert reason in _reason(body)


@pytest.mark.parametrize(
    ("method", "reason"),
    [("return x + torch.rand(3)", "draws random numbers"), ("self.n = 3\n        return x", "stores something")],
)
@pytest.mark.parametrize(
    "body", ["while ⟦x.sum() < 9⟧:\n    x = self.step(x)", "while ⟦self.step(x).sum() < 9⟧:\n    x = x * 2"]
)
def test_what_a_method_of_the_class_does_is_read(body: str, method: str, reason: str) -> None:
    source = _method(f"{body}\nreturn x.abs()")
    _, answer = _answer(f"{source}\n    def step(self, x):\n        {method}\n")
    assert not answer.mends and reason in answer.declined[0].reason


def _program(source: str) -> Any:
    import torch

    space: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, PATH, "exec"), space)
    if "Net" in space:
        torch.manual_seed(0)
        return space["Net"]().eval()
    return space["fn"]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.title)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("asked", [_CALLED, ASKED], ids=["called", "twin"])
@pytest.mark.slow
def test_without_gradients_it_is_one_graph_and_bit_equal(case: Any, asked: Asked, backend: str) -> None:
    """With turns, without one, for other sizes; and what is returned without a turn is a tensor of its own."""
    import torch

    before = unmark(case.before)[0]
    value, answer = asked.answer(case.before)
    original, mended = _program(before), _program(apply_edits(value, answer.mends[0].edits))
    torch._dynamo.reset()
    compiled = torch.compile(mended, backend=backend, fullgraph=True)
    for rows in (1, 3):
        for start in (1.0, 2.0**0.5, 99.0, 0.0):
            x = torch.full((rows, 4), start)
            arguments = (x, x + 1) if "x, y" in before else (x,)
            if start == 0.0 and "y" not in before and "self" not in before:
                continue  # which is doubled for ever
            with torch.no_grad():
                expected, got = original(*copy.deepcopy(arguments)), compiled(*copy.deepcopy(arguments))
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("body", "guard"),
    [
        ("while ⟦x.sum() < 9⟧:\n    x = x * 2", "not (torch.is_grad_enabled() or x.requires_grad)"),
        ("x = x * 2\nwhile ⟦x.sum() < 9⟧:\n    x = x * 2", "not torch.is_grad_enabled()"),
        ("x = self.start\nwhile ⟦x.sum() < 9⟧:\n    x = x * 2", "not (torch.is_grad_enabled() or x.requires_grad)"),
        (
            "y = x * 2\nx = torch.zeros(3)\nwhile ⟦x.sum() < 9⟧:\n    x = x + y\n    y = y * 2",
            "not torch.is_grad_enabled()",
        ),
        (
            "x = x * 2\nwith torch.no_grad():\n    while ⟦x.sum() < 9⟧:\n        x = x * 2",
            "not (torch.is_grad_enabled() or x.requires_grad)",
        ),
        (
            "with torch.no_grad():\n    x = torch.zeros(3)\n    while ⟦x.sum() < 9⟧:\n        x = x + 1",
            "not torch.is_grad_enabled()",
        ),
    ],
)
def test_a_tensor_that_asks_for_gradients_keeps_the_loop(body: str, guard: str) -> None:
    after = _after(f"{body}\nreturn x").replace("in_graph = torch", "if torch")
    assert re.search(rf"if torch.compiler.is_compiling\(\) and {re.escape(guard)}:?\n", after)


def test_without_a_turn_a_gradient_goes_through() -> None:
    import torch

    mended = _program(EXAMPLES[0].after)
    torch._dynamo.reset()
    x = torch.full((4,), 99.0, requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.compile(mended, backend="aot_eager")(x).sum(), x)
    assert torch.equal(gradient, torch.ones(4))


@pytest.mark.slow
def test_the_support_module_turns_views_and_leaves_out_training_and_what_asks_for_gradients() -> None:
    import torch
    from graphmend_support import while_loop
    from torch._dynamo.testing import CompileCounter

    def turned(x: Any, training: bool = False) -> Any:
        return while_loop(lambda x, _: x.sum() < 100, lambda x, n: (x * 2, n + 1), (x, x.new_zeros(())), training)

    wide = torch.ones(4, 6)
    views = (wide[:, ::2], wide.t(), wide[:1].expand(3, 6), torch.full((4,), 99.0), torch.full((2, 2), 25.0))
    for x in views:
        torch._dynamo.reset()
        compiled = torch.compile(turned, backend="aot_eager", fullgraph=True)
        with torch.no_grad():
            for got, expected in zip(compiled(x), turned(x), strict=True):
                assert torch.equal(got, expected)
    for x, training in ((torch.ones(4, requires_grad=True), False), (torch.ones(4), True)):
        torch._dynamo.reset()
        graphs = CompileCounter()
        with torch.no_grad():
            got, expected = torch.compile(turned, backend=graphs)(x, training), turned(x, training)
        assert torch.equal(got[0], expected[0]) and graphs.frame_count > 1
    same = torch.full((4,), 99.0, requires_grad=True)
    with torch.no_grad():
        assert torch.compile(turned, backend="aot_eager")(same)[0] is same


def test_with_gradients_the_loop_stays() -> None:
    import torch

    original, mended = _program(unmark(EXAMPLES[0].before)[0]), _program(EXAMPLES[0].after)
    source = EXAMPLES[0].after.replace("with torch.no_grad():", "if True:")
    mended = _program(source)
    torch._dynamo.reset()
    compiled = torch.compile(mended, backend="aot_eager")
    for start in (1.0, 99.0):
        x = torch.full((4,), start, requires_grad=True)
        got = compiled(x)
        assert torch.equal(got, original(x.detach()))
        (gradient,) = torch.autograd.grad(got.sum(), x)
        assert torch.equal(gradient, torch.full((4,), (got / x).max().item()))


def test_what_is_no_module_does_not_know_whether_it_trains() -> None:
    body = "while ⟦x.sum() < 9⟧:\n    x = self.step(x)\nreturn x"
    assert "`Net` is no `nn.Module`" in _reason(body, head="import torch\n\n\nclass Net:\n")
