"""Random programs of branches, updates and tuple assignments: what is mended computes exactly what it did."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

_NAMES = "abc"
_VALUES = ("{} + 1", "{} - {}", "-{}", "{} * 0.5 + {}", "torch.sin({})", "{} + 1 if {}.sum() > 0 else {}")


def _value(r: random.Random) -> str:
    text = r.choice(_VALUES)
    while "{}" in text:
        text = text.replace("{}", r.choice(_NAMES), 1)
    return text


def _block(r: random.Random, depth: int, indent: str) -> list[str]:
    lines: list[str] = []
    for _ in range(r.randint(1, 3)):
        kind = r.random()
        if kind < 0.2 and depth:
            lines += _branch(r, depth - 1, indent)
        elif kind < 0.3:
            lines.append(f"{indent}{r.choice(_NAMES)}, {r.choice(_NAMES)} = {_value(r)}, {r.choice(_NAMES)}")
        elif kind < 0.4:
            lines += [f"{indent}t = {_value(r)}", f"{indent}{r.choice(_NAMES)} = t * 3"]
        elif kind < 0.5:
            lines.append(f"{indent}{r.choice(_NAMES)} += {r.choice(_NAMES)}")
        else:
            lines.append(f"{indent}{r.choice(_NAMES)} = {_value(r)}")
    return lines


def _branch(r: random.Random, depth: int, indent: str, test: str = "") -> list[str]:
    lines = [f"{indent}if {test or f'{r.choice(_NAMES)}.max() > 0'}:", *_block(r, depth, indent + "    ")]
    if r.random() < 0.3:
        lines += [f"{indent}elif {r.choice(_NAMES)}.max() > 0:", *_block(r, depth, indent + "    ")]
    if r.random() < 0.6:
        lines += [f"{indent}else:", *_block(r, depth, indent + "    ")]
    return lines


def _program(r: random.Random) -> str:
    own = [f"    {name} = {name} * 1" for name in _NAMES] if r.random() < 0.7 else []
    body = _branch(r, 2, "    ", test=f"⟦{r.choice(_NAMES)}.sum() > 0⟧")
    return "\n".join(["import torch\n\n\ndef fn(a, b, c):", *own, *body, "    return a, b, c\n"])


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_same_values(block: int) -> None:
    import torch

    mended = 0
    for seed in range(block * 20, block * 20 + 20):
        source, site = unmark(_program(random.Random(seed)))
        mends = propose(site, {PATH: source}, ["where"]).mends
        mended += bool(mends)
        for mend in mends:
            new = apply_edits(source, mend.edits)
            for values in range(6):
                torch.manual_seed(values)
                inputs = [torch.randn(3) * 2 for _ in _NAMES]
                expected, got = (_call(text, [one.clone() for one in inputs]) for text in (source, new))
                assert all(torch.equal(one, two) for one, two in zip(expected, got, strict=True)), f"{source}\n{new}"
    assert mended >= 5, "too few of the programs are mended for this to say anything"


def _call(source: str, inputs: list[Any]) -> Any:
    space: dict[str, Any] = {}
    exec(compile(source, PATH, "exec"), space)
    return space["fn"](*inputs)
