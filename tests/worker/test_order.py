"""What compiled code may do in front of a check that stands before it: writes that do not need its value, other exceptions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import graphmend_lsp
from graphmend_lsp.worker.observe import Observation, Raised
from graphmend_lsp.worker.order import raised_behind, watching
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.wire import Difference

CHECK = "check((x < 10).all(), ValueError, 'large')"
FORWARD = "import torch\nfrom graphmend_support import check\n\ndef forward(self, x):\n{}    return x * 2\n"
WRITES = {
    "none": ((CHECK,), []),
    "a counter behind it": ((CHECK, "self.n += 1"), ["`self.n`"]),
    "a counter in front of it": (("self.n += 1", CHECK), ["`self.n`"]),
    "no check": (("self.n += 1",), []),
    "an argument": ((CHECK, "x.mul_(2)"), ["`x`"]),
    "two": ((CHECK, "self.n += 1", "self.m.copy_(x)"), ["`self.m`", "`self.n`"]),
    "an operator that is no check": (("torch._assert_async((x < 10).all(), 'large')", "self.n += 1"), []),
}
TABLE = {
    "an index": ("return torch.arange(5)[x.long()]", "IndexError"),
    "another exception of its own": ("raise KeyError('behind')", "KeyError"),
    "a second check": (f"{CHECK}\n    return x", None),
    "nothing": ("return x", None),
}


@pytest.fixture
def support() -> Iterator[None]:
    sys.path.append(str(Path(graphmend_lsp.__file__).parent / "support"))
    yield
    sys.path.pop()
    sys.modules.pop("graphmend_support", None)
    torch._dynamo.reset()


def made(text: str, name: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), space)
    return space[name]  # type: ignore[no-any-return]


def observing(function: Callable[..., Any]) -> Callable[[Recipe], Observation]:
    """What makes a call of a recipe, of numbers that no check lets pass, and observes what it raises."""

    def call(recipe: Recipe) -> Observation:
        try:
            function(torch.full((4,), 20.0))
        except Exception as error:
            return Observation(recipe.label, {}, {}, Raised(type(error).__name__, str(error)))  # type: ignore[arg-type]
        return Observation(recipe.label, {}, {}, None)  # type: ignore[arg-type]

    return call


@pytest.mark.usefixtures("support")
@pytest.mark.parametrize(("lines", "written"), WRITES.values(), ids=WRITES)
def test_writes_that_do_not_need_the_check_are_found(lines: tuple[str, ...], written: list[str]) -> None:
    found: list[Difference] = []
    forward = made(FORWARD.format("".join(f"    {line}\n" for line in lines)), "forward")
    net = type("Net", (torch.nn.Module,), {"forward": forward})()
    net.register_buffer("n", torch.zeros(()))
    net.register_buffer("m", torch.zeros(4))
    torch.compile(net, backend=watching(found), fullgraph=True)(torch.ones(4))
    assert sorted(one["detail"].split(" may be written")[0] for one in found) == written
    assert {one.get("assumes") for one in found} <= {"caught"}


@pytest.mark.usefixtures("support")
@pytest.mark.parametrize(("behind", "raises"), TABLE.values(), ids=TABLE)
def test_what_stands_behind_a_check_and_raises_is_found(behind: str, raises: str | None) -> None:
    function = made(f"import torch\nfrom graphmend_support import check\n\ndef f(x):\n    {CHECK}\n    {behind}\n", "f")

    call = observing(function)
    recipes = [Recipe(0, own=True)]
    seen = [call(recipes[0])]
    assert seen[0].raised is not None and seen[0].raised.type == "ValueError"
    found = raised_behind(recipes, seen, call)
    assert [one.get("assumes") for one in found] == ["raised-between"] * (raises is not None)
    assert all(str(raises) in one["detail"] for one in found)
    assert call(recipes[0]).raised == seen[0].raised, "the check raises again behind it"


def test_an_operator_that_is_no_check_raises_what_it_raises() -> None:
    """`opaque` makes operators, too: what is passed over is a check's exception alone."""

    def part(x: torch.Tensor) -> None:
        raise IndexError(f"index {int(x[0])} is out of range")

    torch.library.custom_op("graphmend_program_1::_fn_operator", part, mutates_args=("x",))

    call = observing(torch.ops.graphmend_program_1._fn_operator)
    recipes = [Recipe(0, own=True)]
    seen = [call(recipes[0])]
    assert seen[0].raised is not None and seen[0].raised.type == "IndexError"
    assert raised_behind(recipes, seen, call) == []


SAID = {
    "nothing raises": ("y = x * 2\n    call_in_graph(lambda: print(1))\n    return y", []),
    "a look-up in front": ("y = t[i]\n    call_in_graph(lambda: print(1))\n    return y + x", ["index"]),
    "a look-up behind": (
        "call_in_graph(lambda: print(1))\n    return x + torch.nn.functional.embedding(i, t)",
        ["embedding"],
    ),
    "an index that is a constant": ("y = t[1]\n    call_in_graph(lambda: print(1))\n    return y + x", []),
    "a mask": ("x = x.clone()\n    x[x > 0] = 3\n    call_in_graph(lambda: print(1))\n    return x", []),
    "a look-up that the message says": (
        "y = t[i]\n    call_in_graph(lambda y: print(y.sum()), y.detach())\n    return x",
        [],
    ),
    "a check": ("call_in_graph(lambda: print(1))\n    check((x < 9).all(), ValueError)\n    return x", ["check_1"]),
    "a print of torch": ("y = t[i]\n    torch._higher_order_ops.print('1')\n    return y + x", ["index"]),
    "no message": ("return t[i] + x", []),
}


@pytest.mark.usefixtures("support")
@pytest.mark.parametrize(("body", "raising"), SAID.values(), ids=SAID)
def test_what_may_raise_beside_a_message_is_found(body: str, raising: list[str]) -> None:
    found: list[Difference] = []
    text = f"import torch\nfrom graphmend_support import call_in_graph, check\n\ndef fn(x, t, i):\n    {body}\n"
    fn = made(text, "fn")
    given = torch.ones(2, 3), torch.ones(4, 3), torch.tensor([0, 1])
    torch.compile(fn, backend=watching(found), fullgraph=True)(*given)
    assert [one["detail"].split("`")[1] for one in found] == raising
    assert {one.get("assumes") for one in found} <= {"raised-between"}


LOCALS = {
    "a tensor that it made": (("y = torch.zeros(4)",), []),
    "an argument": (("y = z",), ["`y`"]),
    "a view of an argument": (("y = z[:4]",), ["`y`"]),
    "a buffer": (("y = KEPT",), ["`y`"]),
    "a tensor that is kept elsewhere": (("y = torch.zeros(4)", "SEEN.append(y)"), ["`y`"]),
    "a tensor that an argument keeps": (("y = torch.zeros(4)", "x.kept = {'y': y}"), ["`y`"]),
    "a parameter": (("z = torch.zeros(4)", "y = z", "z = None"), []),
    "a parameter bound anew": (("z = torch.zeros(4)",), ["`z`"]),
}


@pytest.mark.usefixtures("support")
@pytest.mark.parametrize(("lines", "written"), LOCALS.values(), ids=LOCALS)
@pytest.mark.slow
def test_what_a_function_made_itself_is_seen_by_nobody_when_a_check_fails(
    lines: tuple[str, ...], written: list[str]
) -> None:
    found: list[Difference] = []
    name = "z" if written == ["`z`"] else "y"
    body = "".join(f"    {one}\n" for one in (*lines, "torch._dynamo.graph_break()", CHECK, f"{name}.add_(1)"))
    head = "import torch\nfrom graphmend_support import check\nKEPT = torch.zeros(4)\nSEEN = []\n"
    fn = made(f"{head}\ndef fn(x, z):\n{body}    return {name} * x\n", "fn")
    torch.compile(fn, backend=watching(found))(torch.ones(4), torch.zeros(8)[:4].clone())
    assert [one["detail"].split(" may be written")[0] for one in found] == written


@pytest.mark.usefixtures("support")
def test_what_a_caller_keeps_is_seen() -> None:
    found: list[Difference] = []
    head = "import torch\nfrom graphmend_support import check\n"
    inner = f"\ndef inner(x, d):\n    y = torch.zeros(4)\n    d['y'] = y\n    torch._dynamo.graph_break()\n    {CHECK}\n    y.add_(1)\n"
    outer = "\ndef fn(x):\n    d = {}\n    torch._dynamo.graph_break()\n    inner(x, d)\n    return d['y']\n"
    torch.compile(made(head + inner + outer, "fn"), backend=watching(found))(torch.ones(4))
    assert [one["detail"].split(" may be written")[0] for one in found] == ["`y`"]
