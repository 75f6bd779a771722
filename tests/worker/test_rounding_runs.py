"""What is rounded otherwise is told from what is another result, by real runs in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.worker.conftest import Workers
from tests.worker.worker_pipes import analyse_params

HEAD = """import random, torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2000, 16))
        self.d = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(16))
        self.count = 0
"""
TAIL = """
def graphmend_entry():
    torch.manual_seed(0)
    return Model(), (torch.randn({rows}, 2000),)
"""
FORWARD = "    def forward(self, x):\n{}\n"
SUM = "y = x @ self.w"
OTHER = "o = torch.arange(1999, -1, -1); y = x[:, o] @ self.w[o]"  # the same sums from their other end


@dataclass(frozen=True)
class Case:
    """Lines of a forward in which `{sum}` stands for the sum, in one order before and in the other after.

    `after` are those of the mended program where they are others. `reason` is what the verdict says of it,
    in `calls` of them only where that is told; others may be rounded otherwise.
    """

    name: str
    before: str
    after: str = ""
    reason: str = ""
    mode: str = "eval"
    rows: int = 4
    calls: int = 0

    def text(self, mended: bool) -> str:
        lines = (self.after if mended and self.after else self.before).replace("{sum}", OTHER if mended else SUM)
        body = "\n".join(f"        {line}" for line in lines.splitlines())
        return HEAD + FORWARD.format(body) + TAIL.format(rows=self.rows)


COMPLEX = "c = torch.complex(x, x * 2); o = torch.arange(1999, -1, -1); w = self.w.to(c.dtype)\n"
ROWS = "m = x[:, 0] > 0\n"
ROUNDED = [
    Case("an output", "{sum}\nreturn y"),
    Case("an output behind other operations", "{sum}\nreturn torch.relu(y) * 3, y.sum(0)"),
    Case(
        "a weight's gradient that is summed over all rows",
        ROWS + "y = x.new_zeros(300, 16)\ny[m] = x[m] @ self.w\nreturn y * 1000",
        ROWS + "z = torch.where(m[:, None], x, 0.0).flip(0)\n"
        "return torch.where(m[:, None], (z @ self.w).flip(0), 0.0) * 1000",  # other orders on every CPU
        rows=300,
    ),
    Case("complex numbers", COMPLEX + "return c @ w", COMPLEX + "return c[:, o] @ w[o]"),
    Case("state that does not depend on it", "{sum}\nself.count += 1\nself.seen += 1\nreturn y * self.count"),
    Case("a branch that goes the same way", "{sum}\nif x.sum() > 0:\n    y = y * 2\nreturn y"),
    Case("draws that are the same in float64", "{sum}\nreturn self.d(y) * random.random()", mode="train"),
]


def factor(size: str) -> str:
    return f"{{sum}}\nreturn y * (1 + {size})"


def slope(size: str) -> str:
    """The same result, with a gradient that is larger by that share."""
    return f"{{sum}}\ny.register_hook(lambda g: g * (1 + {size}))\nreturn y"


PLAIN = "{sum}\nreturn y"
TOO = "in float64 they differ too"
CHAOS = "y = y.sigmoid()\nfor _ in range({}):\n    y = 3.99 * y * (1 - y)\n"
DIFFERENT = [
    *(Case(f"a factor of 1 + {size}", PLAIN, factor(size), TOO) for size in ("1e-5", "1e-6", "1e-7")),
    *(Case(f"a gradient times 1 + {size}", PLAIN, slope(size), TOO) for size in ("1e-5", "1e-6", "1e-7")),
    Case(
        "a factor of 1 + 1e-6 in one column",
        PLAIN,
        "{sum}\nm = torch.ones_like(y)\nm[:, 3] += 1e-6\nreturn y * m",
        TOO,
    ),
    Case(
        "a factor of 1 + 1e-6 in a column of small numbers",
        "{sum}\nm = torch.ones_like(y)\nm[:, 3] *= 1e-5\nreturn y * m",
        "{sum}\nm = torch.ones_like(y)\nm[:, 3] *= 1e-5 * (1 + 1e-6)\nreturn y * m",
        TOO,
    ),
    Case(
        "something else in a small output beside it",
        "{sum}\nreturn y, y[0, 0].detach() * 0 + 1e-6",
        "{sum}\nreturn y, y[0, 0].detach() * 0 + 1.0000001e-6",
        TOO,
    ),
    Case("a cast to float32", "x = x.float()\nself.w.data = self.w.data.float()\n{sum}\nreturn y", reason="float32"),
    Case("a cast to float32 and back", "{sum}\nreturn y", "{sum}\nreturn y.float().to(x.dtype)", TOO),
    Case("a buffer made in float32", "{sum}\nz = torch.zeros(4, 16)\nz += y\nreturn z", reason="float32"),
    Case(
        "a dtype that float64 is not",
        "assert x.dtype == torch.float32\n{sum}\nreturn y",
        reason="AssertionError",
    ),
    Case(
        "more for float32 only",
        PLAIN,
        "{sum}\nif x.dtype == torch.float32:\n    y = y * (1 + 1e-5)\nreturn y",
        "other lines",
    ),
    Case(
        "as much more as float32 rounds",
        PLAIN,
        "{sum}\nreturn y * (1 + 100 * torch.finfo(x.dtype).eps)",
        "away, the other",
    ),
    Case(
        "as much less as float32 rounds",
        "{sum}\nreturn y * (1 + 100 * torch.finfo(x.dtype).eps)",
        PLAIN,
        "away, the other",
    ),
    Case("chaos", "{sum}\n" + CHAOS.format(60) + "return y", reason="too coarse"),
    Case(
        "a branch that rounding decides",
        "{sum}\nif int((y * 2**20).abs().sum()) % 2 == 0:\n    y = y * 1\nelse:\n    y = y + 0\nreturn y",
        reason="other lines",
        calls=1,
    ),
    Case("a number that is rounded", "{sum}\nreturn y.sum().item()"),
    Case("whole numbers that rounding decides", "{sum}\nreturn y, (y * 2**20).long()"),
    Case("truth that rounding decides", "{sum}\nreturn y, (y * 2**24 % 2) > 1"),
    Case("a text of rounded numbers", "{sum}\nprint(y.sum().item())\nreturn y"),
    Case("state that is rounded", "{sum}\nself.seen += y.sum(0).detach()\nreturn y"),
    Case("random numbers", "{sum}\nreturn y + torch.randn_like(y)", reason="other random numbers"),
    Case("half precision", "{sum}\nreturn (y.half() * 50).sin()"),
    Case("more elements that are infinite", "{sum}\nreturn y * 1e37", reason="other elements are finite", calls=1),
]


pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("rounding runs")]  # cases with one original share its runs


@pytest.fixture(scope="module")
def judged(workers: Workers, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], dict[str, Any]]:
    """The verdict on a case; those of one original are asked for together, as the engine does."""
    file = str(tmp_path_factory.mktemp("rounding") / "program.py")
    known: dict[str, dict[str, Any]] = {}

    def ask(case: Case) -> dict[str, Any]:
        if case.name not in known:
            alike = [one for one in ROUNDED + DIFFERENT if (one.text(False), one.mode) == (case.text(False), case.mode)]
            candidates = [
                {"id": one.name, "texts": {file: one.text(True)}, "changed": {}, "conditions": []} for one in alike
            ]
            params = analyse_params(
                file, text=case.text(False), roots=(str(Path(file).parent),), device="cpu", mode=case.mode,
                seconds=60.0 * len(alike),
            )  # fmt: skip
            worker = workers("all")
            result = worker.result(worker.send("verify", {**params, "candidates": candidates}), 280)
            assert result["failure"] is None
            known.update({one["id"]: one for one in result["candidates"]})
        assert known[case.name]["failure"] is None
        return known[case.name]

    return ask


@pytest.mark.parametrize("case", ROUNDED, ids=lambda case: case.name)
def test_what_is_rounded_otherwise_is_told_as_that(judged: Callable[[Case], dict[str, Any]], case: Case) -> None:
    one = judged(case)
    assert [each for each in one["differences"] if each["severity"] == "different"] == []
    assert any(each.get("rounded") for each in one["differences"])
    assert "different" not in (one["outputs"], one["gradients"], one["state"])


@pytest.mark.parametrize("case", DIFFERENT, ids=lambda case: case.name)
def test_what_is_more_than_rounding_stays_different(judged: Callable[[Case], dict[str, Any]], case: Case) -> None:
    one = judged(case)
    grave = [each for each in one["differences"] if each["severity"] == "different"]
    assert grave
    assert case.calls or not any(each.get("rounded") for each in one["differences"])
    if case.reason:
        assert any(case.reason in each["detail"] for each in grave)
