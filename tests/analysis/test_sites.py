"""From what Dynamo names to what is meant: `⟦` `⟧` around the given span, `‹` `›` around the wanted one."""

from __future__ import annotations

import re

import pytest

from graphmend_lsp.analysis.sites import function_at, narrow, statement_at
from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text

FUNCTION = "import torch\ndef f(x, a, b):\n"


def places(marked: str) -> tuple[str, Span, Span]:
    offsets: dict[str, int] = {}
    plain = ""
    for part in re.split("([⟦⟧‹›])", marked):
        if part in "⟦⟧‹›" and part:
            offsets[part] = len(plain)
        else:
            plain += part
    text = Text(plain)
    given = Span(text.position(offsets["⟦"]), text.position(offsets["⟧"]))
    wanted = Span(text.position(offsets["‹"]), text.position(offsets["›"])) if "‹" in offsets else given
    return plain, given, wanted


@pytest.mark.parametrize(
    "body",
    [
        "    ⟦if ‹torch.isnan(x).any()›: raise ValueError('nan')⟧\n",
        "    ⟦if not ‹(x > 0).all()›:\n        y = x\n    else:\n        y = -x⟧\n",
        "    ⟦if a is not None and ‹x.any()›:\n        pass⟧\n",
        "    ⟦if isinstance(a, int) or not ‹x.any()›:\n        pass⟧\n",
        "    ⟦if x.sum() > 0 and ‹x.any()›:\n        pass⟧\n",
        "    ⟦if ‹torch.isinf(x).any() or torch.isnan(x).any()›:\n        pass⟧\n",
        "    if a:\n        pass\n    ⟦elif ‹x.all()›:\n        pass⟧\n",
        "    ⟦while ‹x.any()›:\n        x = x - 1⟧\n",
        "    ⟦assert ‹(x > 0).all()›, f'bad {x.shape}'⟧\n",
        "    y = ⟦1 if ‹x.any()› else 2⟧\n",
        "    y = ⟦‹x.any()› or a⟧\n",
        "    é = '𝔘'; y = ⟦1 if ‹x.any()› else 'é'⟧\n",
        "    y = ⟦x.sum() > 0⟧\n",
        "    ⟦print(x)⟧\n",
        "    if ⟦x.sum() > 0⟧:\n        pass\n",
        "    if ‹⟦x.dtype == torch.float16⟧ and (x.isinf().any() or x.isnan().any())›:\n        pass\n",
        "    if ⟦a is None⟧ or ‹x.any()›:\n        pass\n",
    ],
)
def test_narrow(body: str) -> None:
    source, given, wanted = places(FUNCTION + body)
    assert Text(source).slice(narrow(source, given)) == Text(source).slice(wanted)
    assert narrow(Text(source), given) == wanted


def test_narrow_asks_the_data_flow_when_two_can_be_meant() -> None:
    source, given, wanted = places(
        "import torch\n@torch.compile\n"
        "def f(x: torch.Tensor, config):\n    ⟦if config.on() and ‹x.any()›:\n        pass⟧\n"
    )
    assert narrow(source, given) == wanted


def test_narrow_behind_a_byte_order_mark_and_in_a_method() -> None:
    source, given, wanted = places("\ufeffclass A:\n    def f(self, x):\n        ⟦if ‹x.any()›: pass⟧\n")
    assert narrow(source, given) == wanted


def test_narrow_leaves_what_it_cannot_read() -> None:
    span = Span.of(1, 1, 9, 9)
    assert narrow("def f(:\n", span) == span
    assert narrow("", span) == span


NESTED = """class A:
    def f(self):
        if True:
            x = 1
        def g():
            return 2
        return g
y = 3
"""


@pytest.mark.parametrize(
    ("line", "column", "name", "statement"),
    [
        (4, 13, "A.f", "x = 1"),
        (6, 15, "A.f.<locals>.g", "return 2"),
        (7, 9, "A.f", "return g"),
        (8, 1, None, None),
    ],
)
def test_where_a_position_is(line: int, column: int, name: str | None, statement: str | None) -> None:
    position = Position(line, column)
    assert function_at(NESTED, position) == name
    found = statement_at(NESTED, position)
    assert (Text(NESTED).slice(found) if found else None) == statement
