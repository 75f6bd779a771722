"""Numbers that a caller reads for the function it calls: how lists are written, what is another function, old calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.model import Break, Frame
from graphmend_lsp.text import apply_edits

from .conftest import PATH, function_of, mended, unmark
from .test_defer import outcome

_PROGRAM = """\
import torch


def cut({parameters}):
    top = ⟦lengths.max().item()⟧
    return x[:top]


def fn(x, lengths):
    return cut({arguments})
"""


def _changed(parameters: str, arguments: str) -> str:
    before, site = unmark(_PROGRAM.format(parameters=parameters, arguments=arguments), "fn", "GB0124")
    return mended("caller", before, site)


@pytest.mark.parametrize(
    ("parameters", "parameters_after", "arguments", "arguments_after"),
    [
        ("x, lengths", "x, lengths, top=None", "x, lengths", "x, lengths, top=top"),
        ("x, lengths,", "x, lengths, top=None", "x, lengths, ", "x, lengths, top=top "),
        ("x, *, lengths=()", "x, *, lengths=(), top=None", "x, lengths=lengths", "x, lengths=lengths, top=top"),
        ("x, lengths: torch.Tensor", "x, lengths: torch.Tensor, top=None", "lengths=lengths, x=x", "lengths=lengths, x=x, top=top"),
        ("\n    x,\n    lengths,\n", "\n    x,\n    lengths,\n    top=None,\n", "\n        x,\n        lengths,\n    ", "\n        x,\n        lengths,\n        top=top,\n    "),
        ("\n    x, lengths\n", "\n    x, lengths, top=None\n", "\n        x, lengths\n    ", "\n        x, lengths, top=top\n    "),
    ],
)  # fmt: skip
def test_lists_are_written_as_they_were(
    parameters: str, parameters_after: str, arguments: str, arguments_after: str
) -> None:
    after = _changed(parameters, arguments)
    assert f"def cut({parameters_after}):" in after
    assert f"return cut({arguments_after})" in after


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("x, lengths  # of rows\n", "x, lengths"),
        ("x, lengths", "x, lengths  # of rows\n    "),
        ("x, lengths", "x, (lengths)"),
        ("x, lengths, top=3", "x, lengths"),
        ("x, lengths, *more", "x, lengths"),
        ("x, lengths, /", "x, lengths"),
    ],
)
def test_what_cannot_be_written_is_refused(parameters: str, arguments: str) -> None:
    before, site = unmark(_PROGRAM.format(parameters=parameters, arguments=arguments), "fn", "GB0124")
    answer = propose(site, {PATH: before}, ["caller"])
    assert not answer.mends and answer.declined


def test_old_calls_give_what_they_gave() -> None:
    import torch

    after = _changed("x, lengths", "x, lengths")
    space: dict[str, object] = {}
    exec(compile(after, PATH, "exec"), space)
    x, lengths = torch.arange(6), torch.tensor([2, 4])
    cut = space["cut"]
    assert callable(cut)
    assert torch.equal(cut(x, lengths), x[:4]) and torch.equal(cut(x, lengths=lengths), x[:4])
    assert torch.equal(function_of(after)(x, lengths), x[:4])


def test_names_in_front_of_the_read_are_taken_along() -> None:
    source = """\
import torch


def cut(x, first, second):
    both = first | second
    far = both.any(-1) & first[..., 0]
    n = ⟦far.sum().item()⟧
    return x[:n] * far.sum()


def fn(x, a, b):
    y = x.sin()
    return cut(y, b, second=a) + 1
"""
    run = "a, b = torch.ones(3, 2) > 0, torch.eye(3, 2) > 0\ncalls = [(torch.arange(5.0), a, b), (torch.arange(5.0), b, a)]"
    before, site = unmark(source, "fn", "GB0124")
    after = mended("caller", before, site)
    assert "    n = ((b | a).any(-1) & b[..., 0]).sum().item()\n    return cut(y, b, second=a, n=n) + 1\n" in after
    expected, graphs_before = outcome(before, run, "eager")
    got, graphs = outcome(after, run, "eager")
    assert got == expected and graphs < graphs_before


def _break(source: str) -> tuple[str, Break]:
    return unmark(source, "fn", "GB0124")


def test_a_function_that_is_compiled_itself_is_not_this_rules() -> None:
    before, site = _break(_PROGRAM.format(parameters="x, lengths", arguments="x, lengths"))
    answer = propose(replace(site, chain=site.chain[1:]), {PATH: before}, ["caller"])
    assert not answer.mends and not answer.declined


def test_a_caller_in_another_file_is_refused() -> None:
    before, site = _break(_PROGRAM.format(parameters="x, lengths", arguments="x, lengths"))
    outer = Frame("other.py", "fn", site.chain[0].span)
    answer = propose(replace(site, chain=(outer, *site.chain[1:])), {PATH: before}, ["caller"])
    assert not answer.mends and "not found in this file" in answer.declined[0].reason


def test_an_override_in_another_file_is_found() -> None:
    source = """\
import torch


class Net(torch.nn.Module):
    def cut(self, x, n):
        top = ⟦n.max().item()⟧
        return x[:top]

    def fn(self, x, n):
        return self.cut(x, n)
"""
    before, site = _break(source)
    other = "import model\n\n\nclass Mine(model.Net):\n    {}\n"
    override = "    def cut(self, x, n):\n        return x\n"
    for body, more, mends in (
        ("pass", "", 1),
        (override.strip(), "", 0),
        ("pass", f"class Leaf(Mine):\n{override}", 0),
        ("pass", f"class Mixin:\n{override}\n\nclass Both(Mixin, Mine): ...\n", 0),
        ("pass", f"class Mixin:\n{override}\n\nclass Apart(Mixin): ...\n", 1),
    ):
        answer = propose(site, {PATH: before, "other.py": other.format(body) + more}, ["caller"])
        assert len(answer.mends) == mends, more
    assert apply_edits(before, propose(site, {PATH: before}, ["caller"]).mends[0].edits).count("top=top") == 1


_TWO = """\
import torch


def cut(x, first, second, n=None):
    if n is None:
        n = first.max().item()
    m = ⟦{read}.max().item()⟧
    return x[n:m]


def fn(x, a, b):
    n = a.max().item()
    return cut(x, a, b, n=n)
"""


def test_a_second_number_is_read_behind_the_first() -> None:
    before, site = unmark(_TWO.format(read="second"), "fn", "GB0124")
    after = mended("caller", before, site)
    assert "def cut(x, first, second, n=None, m=None):" in after
    assert after.endswith("    n = a.max().item()\n    m = b.max().item()\n    return cut(x, a, b, n=n, m=m)\n")


def test_a_number_of_what_is_set_in_front_is_refused() -> None:
    before, site = unmark(_TWO.format(read="(second + n)"), "fn", "GB0124")
    (declined,) = propose(site, {PATH: before}, ["caller"]).declined
    assert declined.reason == "`n` gets another value before the read where it is None."


_NET = """\
import torch

SCALE = 2


class Part(torch.nn.Module):
    def forward(self, x, n):
        top = ⟦(n * SCALE).max().item()⟧
        return x[:top]
{part}

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
{net}
    def fn(self, x, n):
        {inside}return self.part(x, n)
"""


@pytest.mark.parametrize(
    ("part", "net", "inside", "reason"),
    [
        ("", "", "", None),
        ("", "        self.part = torch.compile(self.part)\n", "", "may be another function"),
        ("", "        self.part.register_forward_pre_hook(print)\n", "", "A hook of this file"),
        ("\n    def __call__(self, n, x):\n        return self.forward(x, n)\n", "", "", "in another way"),
        ("\n    if torch.cuda.is_available():\n        def forward(self, x, n):\n            return x\n", "", "", "in another way"),
        ("", "", "SCALE = 3\n        ", "`SCALE` is another name in `fn`"),
        ("", "", "y = 1; ", "shares its line"),
    ],
)  # fmt: skip
def test_only_a_call_that_can_lead_nowhere_else_is_taken(part: str, net: str, inside: str, reason: str | None) -> None:
    source = _NET.format(part=part, net=net, inside=inside)
    before, site = unmark(source, "fn", "GB0124")
    answer = propose(site, {PATH: before}, ["caller"])
    if reason is None:
        assert "top = (n * SCALE).max().item()\n        return self.part(x, n, top=top)" in apply_edits(
            before, answer.mends[0].edits
        )
    else:
        assert not answer.mends and reason in answer.declined[0].reason


def test_a_method_that_an_instance_replaces_is_refused() -> None:
    source = """\
class Net:
    def cut(self, x, n):
        top = ⟦n.max().item()⟧
        return x[:top]

    def change(self, cut):
        self.cut = cut

    def fn(self, x, n):
        return self.cut(x, n)
"""
    before, site = _break(source)
    assert "may be another function" in propose(site, {PATH: before}, ["caller"]).declined[0].reason
