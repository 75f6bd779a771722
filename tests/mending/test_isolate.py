"""The isolate rule beyond its examples: what stays compiled, what exceptions do, and places where a body is not taken apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmend_lsp.engine.mender import no_rule_for
from graphmend_lsp.mending import propose

from .conftest import PATH, mended, unmark

LAYERS = """\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        return x.tan().tanh().exp()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.seen = []

    def forward(self, x):
        y = x.sin() + 1
        for layer in self.layers:
            y = layer(y)
            self.seen.append(⟦y.clamp(-9, 9).round().tolist()⟧)
        return y.cos()


fn = Net()
"""

WITHIN = """\
import contextlib

import torch

seen = []


@contextlib.contextmanager
def noted():
    seen.append("in")
    try:
        yield
    finally:
        seen.append("out")


def fn(x):
    y = x.sin() + 1
    with noted():
        y = y.tan().tanh().abs()
        seen.append(⟦y.round().tolist()⟧)
        y = y.exp().sqrt()
    return y.cos()
"""


def test_what_a_loop_calls_stays_compiled() -> None:
    before, after = _both(LAYERS)
    assert "recursive=False" in after
    plain = after.replace("(recursive=False)", "")
    assert _operations(after) > _operations(plain)
    assert _operations(after) > _operations(before)


def test_only_the_break_in_a_context_manager_is_lost() -> None:
    before, after = _both(WITHIN)
    assert (_operations(before), _operations(after)) == (2, 9)
    assert _outcome(before) == _outcome(after)


@pytest.mark.parametrize(
    "caught",
    ["RuntimeError", "ValueError", "Exception", "(KeyError, ValueError)", "torch.OutOfMemoryError", "", "Own"],
)
def test_the_body_of_a_try_is_whole_where_a_graph_may_raise_what_it_catches(caught: str) -> None:
    assert "_part" not in mended("isolate", *unmark(_tried(caught, "return x"), None, "GB0109"))


@pytest.mark.parametrize("caught", ["KeyError", "(ImportError, OSError)"])
def test_the_body_of_a_try_is_compiled_where_no_graph_raises_what_it_catches(caught: str) -> None:
    assert "_part" in mended("isolate", *unmark(_tried(caught, "return x"), None, "GB0109"))


def test_what_was_stored_before_an_exception_is_seen() -> None:
    source = _tried("KeyError", "scale = 1.0")  # y may be the new one behind it
    assert "_part" not in mended("isolate", *unmark(source, None, "GB0109"))
    fine = source.replace("scale = 1.0", "y = scale = 1.0")
    assert "_part" in mended("isolate", *unmark(fine, None, "GB0109"))


def test_an_exception_that_is_caught_does_what_it_did() -> None:
    before, after = _both(_tried("KeyError", "return x"))
    expected = _outcome(before, compiled=False, table={})
    assert expected == _outcome(after, compiled=False, table={}) == _outcome(after, table={})
    assert _outcome(before, table={"k": 2}) == _outcome(after, table={"k": 2}) != expected


def test_a_function_that_is_nothing_but_a_loop() -> None:
    before, after = _both("""\
import torch


def fn(x):
    for turn in range(3):
        x = x.tan().tanh().abs()
        x = x * len(⟦x.round().tolist()⟧) + turn
    return x
""")
    assert (_operations(before), _operations(after)) == (0, 18)
    assert _outcome(before) == _outcome(after)


def test_a_name_of_a_function_around_is_handed_on() -> None:
    source = """\
import torch


def make(scale):
    def fn(x):
        y = x.cos()
        while ⟦x.sum() < 100⟧:
            x = x.abs() * scale + 1
        return x * y

    return fn


fn = make(2)
"""
    before, after = _both(source)
    assert "_fn_uncompiled(scale, x)" in after
    assert _outcome(before) == _outcome(after)


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        ("for turn in range(2):", True),
        ("for turn in range(1, 3):", True),
        ("for turn in (1, 2):", True),
        ("for turn in range(0):", False),
        ("for turn in range(x.shape[0]):", False),
        ("for turn in ():", False),
        ("for turn in [*y]:", False),
    ],
)
def test_a_loop_that_surely_turns_leaves_names(head: str, sure: bool) -> None:
    source = f"""\
import torch


def fn(x):
    y = x.sin()
    {head}
        z = x * len(⟦x.round().tolist()⟧)
        if turn > 7:
            break
        late = z
    return y + z
"""
    value, site = unmark(source, None, "GB0109")
    answer = propose(site, {PATH: value}, ["isolate"])
    assert bool(answer.mends) is sure
    assert sure or "`z` may have no value" in answer.declined[0].reason
    value, site = unmark(source.replace("y + z", "y + late"), None, "GB0109")
    assert "`late` may have no value" in propose(site, {PATH: value}, ["isolate"]).declined[0].reason


@pytest.mark.parametrize(
    ("front", "body", "reason"),
    [
        ("total = lambda: x.sum()", "x = x.abs() * total()", "`x` is read by a function inside `fn`"),
        ("def total():\n        return x.sum()", "x = x.abs() * total()", "`x` is read by a function inside `fn`"),
        ("sums = (v + x.sum() for v in y)", "x = x.abs() * next(sums)", "`x` is read by a function inside `fn`"),
        ("def more():\n        nonlocal y\n        y = y + 1", "more(); x = x.abs() + y", "`y` is nonlocal"),
        ("global turns", "turns += 1; x = x.abs() * 2", "`turns` is global"),
        ("turns = 1", "x = x.abs() * eval('turns')", "`eval` would mean something else"),
    ],
)  # fmt: skip
def test_names_that_others_share(front: str, body: str, reason: str) -> None:
    source, site = unmark(f"""\
import torch

turns = 0


def fn(x):
    y = x.cos()
    {front}
    while ⟦x.sum() < 100⟧:
        {body}
    return y * x
""")
    answer = propose(site, {PATH: source}, ["isolate"])
    assert not answer.mends
    assert [reason in one.reason for one in answer.declined] == [True]


def _tried(caught: str, handled: str) -> str:
    return f"""\
import torch


class Own(KeyError):
    pass


def fn(x, table):
    y = x.sin()
    try:
        y = y.tan().tanh().abs()
        names = ⟦y.round().tolist()⟧
        scale = names[0] * table["k"]
    except {caught}:
        {handled}
    return y * scale
"""


def _both(marked: str) -> tuple[str, str]:
    source, site = unmark(marked, None, "GB0109")
    return source, mended("isolate", source, site)


def _loaded(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "isolated", "__file__": "model.py"}
    exec(compile(source, "isolated.py", "exec"), names)
    return names


def _operations(source: str) -> int:
    """How many operators of a call run in graphs."""
    import torch

    run = 0

    def backend(graph: Any, _: Any) -> Any:
        own = sum(node.op.startswith("call_") for node in graph.graph.nodes)

        def counted(*args: Any) -> Any:
            nonlocal run
            run += own
            return graph.forward(*args)

        return counted

    torch._dynamo.reset()
    torch.compile(_loaded(source)["fn"], backend=backend)(torch.arange(1.0, 5.0))
    return run


def _outcome(source: str, compiled: bool = True, **kwargs: Any) -> Any:
    """What two calls give, as text, and what the program noted."""
    import torch

    torch._dynamo.reset()
    names = _loaded(source)
    fn = torch.compile(names["fn"], backend="eager") if compiled else names["fn"]
    return repr([fn(torch.arange(1.0, 5.0), **kwargs), fn(torch.arange(2.0, 6.0), **kwargs)]), names.get("seen")


@pytest.mark.parametrize(("inner", "offered"), [("<dictcomp>", []), ("<genexpr>", []), ("step", ["isolate"])])
def test_a_comprehension_that_compiles_by_itself_is_mended_with_the_break_around_it(
    inner: str, offered: list[str]
) -> None:
    lines = "    flags = ⟦{one: x for one in names}⟧\n    y = x + len(flags)\n    return y.sin() * 2\n"
    source = f"import torch\n\n\ndef run(x, names):\n{lines}"
    value, site = unmark(source, gb_id="GB4347")
    frames = (*site.chain[:-1], replace(site.chain[-1], function=f"Net.run.<locals>.{inner}"))
    found = propose(replace(site, chain=frames), {PATH: value})
    assert [one.rule for one in found.mends] == offered
    assert (
        offered or "Mend the graph break that keeps the function around it" in no_rule_for(site, {PATH: value}).reason
    )
