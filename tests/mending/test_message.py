"""Messages in the graph: the support module's operator under three backends, and what the rule decides by the program around."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import graphmend_lsp
from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import Style

from .conftest import PATH, unmark

PROGRAM = """\
import logging
import sys

import torch

from graphmend_support import call_in_graph, check

logger = logging.getLogger("program")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.name, self.steps = "net", 0

    def forward(self, x):
        y = self.layer(x)
        self.steps += 1
        call_in_graph(
            lambda shape, dtype, device, name, steps: logger.info("%s %s %s %s %s", shape, dtype, device, name, steps),
            y.shape, y.dtype, y.device, self.name, self.steps,
        )
        call_in_graph(lambda: print("a text", None, 1.5))
        call_in_graph(lambda large, first: print("large", first.item()) if large else None, x.sum() > 9, x[0, 0])
        for step in range(2):
            call_in_graph(lambda step: print("step", step, file=sys.stderr), step)
            call_in_graph(lambda step: print("step", step, file=sys.stderr), (step, [True, "x"]))
            y = y * 2
        check((x < 90).all(), lambda shape, top: ValueError(f"{shape}: {top.max():.1f}"), x.shape, x)
        return y
"""
BACKENDS = ("eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow))


@pytest.fixture
def program(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    monkeypatch.syspath_prepend(str(Path(graphmend_lsp.__file__).parent / "support"))
    torch._dynamo.reset()
    file = tmp_path / "program.py"
    text = PROGRAM.replace("%s %s", f"{request.node.name} %s %s", 1)  # Dynamo takes equal code of two files for one
    file.write_text(text, "utf-8")
    space: dict[str, Any] = {"__name__": "program", "__file__": str(file)}
    exec(compile(text, str(file), "exec"), space)
    yield space
    sys.modules.pop("graphmend_support", None)
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.slow
def test_the_operator_says_what_the_program_says(
    program: dict[str, Any],
    backend: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "program")

    def said(compiled: bool) -> list[Any]:
        torch.manual_seed(0)
        net = program["Net"]()
        run = torch.compile(net, backend=backend, fullgraph=True) if compiled else net
        caplog.clear()
        failed = []
        for rows in (3, 5, 7, 3):  # the second is compiled with a size that is not known
            run(torch.ones(rows, 3)).sum().backward()
        with torch.no_grad():
            run(torch.ones(2, 3) * 7)
        with pytest.raises(ValueError) as caught:
            run(torch.full((2, 3), 95.0))
        failed.append(str(caught.value))
        records = [(one.getMessage(), one.funcName, one.lineno, one.pathname) for one in caplog.records]
        return [records, capfd.readouterr(), failed, net.layer.weight.grad]

    first, second = said(False), said(True)
    assert second[:3] == first[:3]
    assert first[0][0][1] == "forward" and len(first[0]) == 6 and first[2] == ["torch.Size([2, 3]): 95.0"]
    assert torch.equal(first[3], second[3])


MAPPED = """\
import torch


def fn(x):
    ⟦print(x.shape)⟧
    return x


{}
"""


@pytest.mark.parametrize(
    ("rest", "offered"),
    [
        ("mapped = torch.func.vmap(fn)", False),
        ("def outer(x):\n    return fn(x)\n\n\nmapped = torch.vmap(lambda x: outer(x))", False),
        ("@torch.vmap\ndef outer(x):\n    return fn(x)", False),
        ("def other(x):\n    return x\n\n\nmapped = torch.func.vmap(other)", True),
        ("", True),
    ],
)
def test_only_what_is_mapped_is_refused(rest: str, offered: bool) -> None:
    source, site = unmark(MAPPED.format(rest), None, "GB0059")
    assert bool(propose(site, {PATH: source}, ["message"]).mends) is offered


def test_a_file_that_cannot_import_the_operator_is_refused() -> None:
    source, site = unmark(MAPPED.format(""), None, "GB0059")
    proposals = propose(site, {PATH: source}, ["message"], styles={PATH: Style(support=None)})
    assert proposals.mends == () and "cannot import the support module" in proposals.declined[0].reason


def test_a_message_that_asks_its_logger_first() -> None:
    text = """\
import logging

logger = logging.getLogger(__name__)


def fn(x):
    if ⟦logger.isEnabledFor(logging.INFO)⟧:
        logger.info("shape %s", x.shape)
    return x
"""
    source, site = unmark(text, None, "GB0291")
    (mend,) = propose(site, {PATH: source}, ["message"]).mends
    words = "".join(one.text for one in mend.edits)
    assert "if logger.isEnabledFor(logging.INFO)" in words and "lambda shape:" in words


@pytest.mark.parametrize(
    ("imported", "call", "offered"),
    [
        ("import rich", 'rich.print("halfway")', True),
        ("from rich import print", 'print("halfway", x.shape)', True),
        ("from tqdm import tqdm", 'tqdm.write("halfway")', True),
        ("from tqdm.auto import tqdm", 'tqdm.write(f"{x.sum().item()}")', True),
        ("import click", 'click.echo("halfway", err=True)', True),
        ("from other import tqdm", 'tqdm.write("halfway")', False),
        ("import rich", "rich.inspect(x)", False),
    ],
)
def test_functions_of_packages_that_print(imported: str, call: str, offered: bool) -> None:
    source = f"import torch\n{imported}\n\n\ndef fn(x):\n    y = x.sin()\n    ⟦{call}⟧\n    return y + 1\n"
    value, site = unmark(source, None, "GB0008")
    mends = propose(site, {PATH: value}, ["message"]).mends
    assert [one.title.startswith("call ") for one in mends] == [True] * offered
