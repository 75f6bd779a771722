"""Mends that are made together never share a name that both bring in."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.programs import combine
from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import SUPPORT, Style
from graphmend_lsp.model import Break, Frame, Mend, NewName, Position, Span, TextEdit
from graphmend_lsp.text import Text

PATH = "model.py"


def proposed(text: str, rule: str, *words: str, support: str | None = SUPPORT) -> list[Mend]:
    """A mend of each of the breaks at the first place of those words, all of the same text."""
    found: list[Mend] = []
    style = Style(support=support)
    for word in words:
        start = text.index(word)
        span = Span(Text(text).position(start), Text(text).position(start + len(word)))
        function = text[:start].rsplit("def ", 1)[1].split("(")[0]
        at = text.index("Both()(x)") if "Both" in text else 0
        outer = (Frame(PATH, "fn", Span(Text(text).position(at), Text(text).position(at + 9))),) if at else ()
        kind = ("GB0170", "Data-dependent branching", "", "dynamo")
        site = Break(PATH, span, *kind, outcome="frame skipped", chain=(*outer, Frame(PATH, function, span)))
        found.append(propose(site, {PATH: text}, [rule], styles={PATH: style}).mends[0])
    return found


def run(text: str) -> list[Any]:
    """What a program gives in some calls, or the words of what it raises."""
    import torch

    space: dict[str, Any] = {"__name__": f"names{abs(hash(text))}", "__file__": PATH}
    exec(compile(text, PATH, "exec"), space)

    def answer(call: list[float]) -> Any:
        try:
            return space["fn"](torch.tensor(call)).tolist()
        except Exception as error:
            return str(error)

    return [answer(call) for call in ([1.0, 2.0], [-1.0, -2.0], [4.0, -9.0], [-4.0, 9.0], [400.0, 1.0])]


EARLY = """\
import torch


def fn(x):
    if x.sum() > 0:
        return x + 1
    y = torch.sqrt(x.abs()) if x.max() > 3 else x
    return y * 2
"""
BOTH_CHECKED = """\
import torch


class Low(torch.nn.Module):
    def forward(self, x):
        if x.min() < -5:
            raise ValueError("low")
        return x + 1


class High(torch.nn.Module):
    def forward(self, x):
        if x.max() > 100:
            raise ValueError("high")
        return x * 2


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = Low(), High()

    def forward(self, x):
        return self.high(self.low(x)).sum()


def fn(x):
    return Both()(x)
"""


def test_an_early_return_keeps_its_condition() -> None:
    mends = proposed(EARLY, "where", "x.sum() > 0", "x.max() > 3")
    assert [sorted(name.name for name in mend.names) for mend in mends] == [["condition", "early"], ["condition"]]
    for order in (mends, mends[::-1]):
        taken, texts = combine(order, Sources({PATH: EARLY}))
        assert len(taken) == 2
        assert "condition_2 = " in texts[PATH]
        assert run(texts[PATH]) == run(EARLY)


def test_operators_of_two_checks() -> None:
    mends = proposed(BOTH_CHECKED, "guard", "x.min() < -5", "x.max() > 100", support=None)
    taken, texts = combine(mends, Sources({PATH: BOTH_CHECKED}))
    assert len(taken) == 2
    assert texts[PATH].count("tags=(torch.Tag.cudagraph_unsafe,),") == 2  # torch 2.11 takes no tag alone
    for line in ("def _forward_check(", "def _forward_check_2(", "def _forward_check_fake_2(", "::_forward_check_2"):
        assert line in texts[PATH]
    assert run(texts[PATH]) == run(BOTH_CHECKED)


def test_two_checks_share_an_import() -> None:
    mends = proposed(BOTH_CHECKED, "guard", "x.min() < -5", "x.max() > 100")
    taken, texts = combine(mends, Sources({PATH: BOTH_CHECKED}))
    assert len(taken) == 2
    assert texts[PATH].count("from graphmend_support import check\n") == 1 and texts[PATH].count(" check(") == 2
    assert run(texts[PATH]) == run(BOTH_CHECKED)


def test_what_mends_import_from_the_support_module_is_one_line() -> None:
    start = Span(Position(1, 13), Position(1, 13))
    mends = [
        Mend("r", "t", PATH, start, (TextEdit(PATH, start, f"\n\nfrom p.graphmend_support import {names}"),))
        for names in ("defer, runs_deferred", "check as graphmend_check, defer", "defer, runs_deferred")
    ]
    taken, texts = combine(mends, Sources({PATH: "import torch\n"}))
    names = "check as graphmend_check, defer, runs_deferred"
    assert len(taken) == 3 and texts[PATH] == f"import torch\n\nfrom p.graphmend_support import {names}\n"


TWO_PARTS = """\
import torch


def fn(x):
    while x.sum() < 100:
        x = x.abs() * 2 + 1
    x = x.sin() * x.cos() * 2
    while x.max() > 0.1:
        x = x * 0.5
    return x.exp()
"""
TWO_FUNCTIONS = """\
import torch


class Net:
    def forward(self, x):
        y = torch.sqrt(x.abs()) if x.max() > 3 else x
        return y * 2


def fn(x):
    y = torch.sqrt(x.abs()) if x.min() < 0 else x
    return Net().forward(y)
"""


def test_parts_behind_boundaries() -> None:
    mends = proposed(TWO_PARTS, "isolate", "x.sum() < 100", "x.max() > 0.1")
    taken, texts = combine(mends, Sources({PATH: TWO_PARTS}))
    assert len(taken) == 2
    assert texts[PATH].count("def _fn_uncompiled(") == texts[PATH].count("def _fn_uncompiled_2(") == 1
    assert run(texts[PATH]) == run(TWO_PARTS)


def test_parts_that_both_go_directly_behind_their_function() -> None:
    program = TWO_PARTS.replace("    x = x.sin()", "        x = x.abs()\n" * 4 + "    x = x.sin()")
    mends = proposed(program, "isolate", "x.sum() < 100", "x.max() > 0.1")
    taken, texts = combine(mends, Sources({PATH: program}))
    assert len(taken) == 2
    fn = texts[PATH].index("def fn(")
    assert fn < texts[PATH].index("def _fn_uncompiled(") and fn < texts[PATH].index("def _fn_uncompiled_2(")
    assert "\n\n\n\n" not in texts[PATH]
    assert run(texts[PATH]) == run(program)


def test_functions_beside_each_other_may_share_one() -> None:
    mends = proposed(TWO_FUNCTIONS, "where", "x.max() > 3", "x.min() < 0")
    assert {name.scope for mend in mends for name in mend.names} == {"Net.forward", "fn"}
    taken, texts = combine(mends, Sources({PATH: TWO_FUNCTIONS}))
    assert len(taken) == 2 and texts[PATH].count("condition = ") == 2
    assert run(texts[PATH]) == run(TWO_FUNCTIONS)


def test_where_a_word_is_in_the_text_the_first_stays() -> None:
    text = EARLY.replace("return y * 2", "return y * 2  # on this condition")
    mends = proposed(text, "where", "x.sum() > 0", "x.max() > 3")
    taken, texts = combine(mends, Sources({PATH: text}))
    assert taken == (mends[0],)
    assert run(texts[PATH]) == run(text)


OLD = "a = 1\nb = 2\nc = 3\n"


HELPER = TextEdit(PATH, Span.of(1, 1, 1, 1), "help = 0\n")
ELSEWHERE = TextEdit("other.py", Span.of(1, 1, 1, 1), "fn(n=1)\n")


def made(line: int, text: str, name: str, scope: str = "", *more: TextEdit) -> Mend:
    edit = TextEdit(PATH, Span.of(line, 1, line, 6), text)
    return Mend(
        "where",
        "",
        PATH,
        edit.span,
        (*more, edit),
        names=(NewName(name, scope, (HELPER,) if HELPER in more else (edit,)),),
    )


@pytest.mark.parametrize(
    ("mends", "kept", "text"),
    [
        ([made(1, "n = 1", "n"), made(2, "n = 2", "n")], 2, "n = 1\nn_2 = 2\nc = 3\n"),
        ([made(1, "n = 1", "n"), made(2, "n = 2", "n"), made(3, "n = 3", "n")], 3, "n = 1\nn_2 = 2\nn_3 = 3\n"),
        ([made(1, "n = 1", "n"), made(2, "n = n_2 = 2", "n")], 2, "n = 1\nn_3 = n_2 = 2\nc = 3\n"),
        ([made(1, "n_2 = 1", "n_2"), made(2, "n_2 = 2", "n_2")], 2, "n_2 = 1\nn_3 = 2\nc = 3\n"),
        ([made(1, "n = 1", "n", "f"), made(2, "n = 2", "n", "f.g")], 2, "n = 1\nn_2 = 2\nc = 3\n"),
        ([made(1, "n = 1", "n", "f"), made(2, "n = 2", "n", "g")], 2, "n = 1\nn = 2\nc = 3\n"),
        ([made(1, "n = nn.n('n')", "n"), made(2, "n = nn.n('n')", "n")], 2, "n = nn.n('n')\nn_2 = nn.n_2('n_2')\nc = 3\n"),
        ([made(1, "x = help", "help", "", HELPER), made(2, "y = help", "help", "", HELPER)], 2, "help = 0\nx = help\ny = help\nc = 3\n"),
        ([made(1, "n = 1", "n"), made(2, "n = 2", "n", "", ELSEWHERE)], 1, "n = 1\nb = 2\nc = 3\n"),
    ],
)  # fmt: skip
def test_names_apart(mends: list[Mend], kept: int, text: str) -> None:
    taken, texts = combine(mends, Sources({PATH: OLD, "other.py": ""}))
    assert len(taken) == kept
    assert texts[PATH] == text
