"""The loop rule beyond its examples: places in a file, comments, what is told, random programs against the original."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.model import Mend
from graphmend_lsp.text import Text, apply_edits

from .conftest import PATH, unmark


def _mends(source: str, gb_id: str = "GB7000") -> tuple[str, tuple[Mend, ...]]:
    value, site = unmark(source, None, gb_id)
    answer = propose(site, {PATH: value}, ["loop"])
    assert answer.mends, [one.reason for one in answer.declined]
    return value, answer.mends


def test_comments_and_line_ends_stay_where_they_are() -> None:
    source = (
        "import torch\n\n\ndef fn(x):\n    for i in range(4):  # four\n        # before\n        x = x * 2  # twice\n"
        "        if ⟦x.sum() > 20⟧:  # enough\n            break\n        # behind\n        x = (\n            x + 1  # one\n"
        "        )\n    return x\n"
    ).replace("\n", "\r\n")
    value, mends = _mends(source)
    assert apply_edits(value, mends[-1].edits).replace("\r\n", "\n").split("def fn(x):\n")[1] == (
        "    done = torch.zeros((), dtype=torch.bool, device=x.device)\n"
        "    for i in range(4):  # four\n"
        "        # before\n"
        "        x = torch.where(done, x, x * 2)  # twice\n"
        "        # enough\n"
        "        done = done | (x.sum() > 20)\n"
        "        # behind\n"
        "        # one\n"
        "        x = torch.where(done, x, x + 1)\n"
        "    return x\n"
    )
    assert "\n" not in apply_edits(value, mends[-1].edits).replace("\r\n", "")


def test_conditions_and_costs_are_told() -> None:
    value, mends = _mends(
        "import torch\n\n\ndef fn(x):\n    for i in range(4):\n        x = x * 2\n        if i > 1 and ⟦x.sum() > 20⟧:\n"
        "            break\n    return x\n"
    )
    assert [Text(value).slice(span) for _path, span in mends[0].conditions] == ["x.sum() > 20"]
    assert any("Every call runs all iterations" in one for one in mends[0].changes)


def test_names_that_are_taken_are_not_used() -> None:
    value, mends = _mends(
        "import torch as th\n\n\ndef fn(x, done):\n    for i in range(4):\n        if ⟦x.sum() > 20⟧:\n            break\n"
        "        x = x * done\n    return x\n"
    )
    new = apply_edits(value, mends[-1].edits)
    assert "done_2 = th.zeros((), dtype=th.bool, device=x.device)" in new and "th.where(done_2, x, x * done)" in new


@pytest.mark.parametrize(
    ("gb_id", "source"),
    [
        (
            "GB0170",
            "def fn(x):\n    for i in range(3):\n        if ⟦x.sum() > 3⟧:\n            x = x + 1\n    return x\n",
        ),
        ("GB0059", "def fn(x):\n    for i in range(3):\n        ⟦print(i)⟧\n    return x\n"),
        ("GB0124", "def fn(x):\n    return x * ⟦x.sum().item()⟧\n"),
        ("GB0170", "def fn(x):\n    if ⟦x.sum() > 3⟧:\n        return x\n    return x + 1\n"),
    ],
)
def test_other_breaks_are_not_this_rules(gb_id: str, source: str) -> None:
    value, site = unmark("import torch\n\n\n" + source, None, gb_id)
    answer = propose(site, {PATH: value}, ["loop"])
    assert answer.mends == () and answer.declined == ()


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_give_what_they_gave(seed: int) -> None:
    """Loops made at random: the same values and gradients, uncompiled; a loop that is declined has a reason."""
    import torch

    value = _program(random.Random(seed))
    text = _mended(value)
    for numbers in ([1.0, 2.0, 0.5], [-1.0, 3.0, 0.0], [0.1, 0.1, 0.1], [9.0, -9.0, 4.0]):
        expected, got = (_outcome(one, numbers) for one in (value, text))
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.slow
def test_most_random_loops_are_mended() -> None:
    programs = [_program(random.Random(seed)) for seed in range(40)]
    left = [one for one in programs if _marked(one) is not None]
    assert sum(_mended(one) != one for one in left) > 0.5 * len(left) > 10


def _mended(text: str) -> str:
    """The program mended as far as the rule does."""
    for _ in range(4):
        marked = _marked(text)
        if marked is None:
            break
        source, site = unmark(marked, None, "GB7000")
        answer = propose(site, {PATH: source}, ["loop"])
        if not answer.mends:
            assert answer.declined
            break
        text = apply_edits(source, answer.mends[-1].edits)
    return text


def _program(dice: random.Random) -> str:
    updates = ["x = x * 1.5", "y = y + x", "x = x - y * 0.25", "z = x * y", "y = y + z.abs()", "x, y = y, x"]
    tests = ["x.sum() > 2", "y.max() > 3", "(x * y).sum() < -1", "x.abs().max() > 4 and i > 0", "i > 1 and y.sum() > 1"]
    lines = ["z = x + 1", "y = x * 0.5", "for i in range(4):"]
    for _ in range(dice.randint(2, 5)):
        kind = dice.random()
        if kind < 0.55:
            lines.append(f"    {dice.choice(updates)}")
        elif kind < 0.9:
            lines.append(f"    if {dice.choice(tests)}:")
            if dice.random() < 0.3:
                lines.append(f"        {dice.choice(updates[:4])}")
            lines.append(f"        {dice.choice(['break', 'break', 'continue'])}")
        else:
            lines.append("    if i == 2:\n        x = x + 1")
    if dice.random() < 0.3:
        lines += ["else:", "    x = x + 10"]
    body = "\n".join(lines).replace("\n", "\n    ")
    return f"import torch\n\n\ndef fn(x):\n    {body}\n    return x + y * 2 + z\n"


def _marked(text: str) -> str | None:
    """The program with the first test that leaves the loop marked; None when there is none."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        behind = {one.strip() for one in lines[at + 1 : at + 3]}
        if line.strip().startswith("if ") and not line.strip().startswith("if i ==") and behind & {"break", "continue"}:
            parts = line[line.index("if ") + 3 : -1].split(" and ")
            tensor = next(part for part in parts if not part.startswith("i "))
            return "\n".join([*lines[:at], line.replace(tensor, f"⟦{tensor}⟧"), *lines[at + 1 :]])
    return None


def _outcome(source: str, numbers: list[float]) -> list[Any]:
    import torch

    space: dict[str, Any] = {}
    exec(compile(source, PATH, "exec"), space)
    x = torch.tensor(numbers, requires_grad=True)
    out = space["fn"](x)
    out.sum().backward()
    return [out, x.grad]
