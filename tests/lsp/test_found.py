"""Mends that write the support module, after another mend has written it, or more of it."""

from __future__ import annotations

import pytest

from graphmend_lsp.engine.support_text import names_of, support_text
from graphmend_lsp.lsp.client import Client
from graphmend_lsp.lsp.edits import Target, workspace_edit
from graphmend_lsp.lsp.found import Run, moved_candidate
from graphmend_lsp.model import Candidate, Mend, Position, Span, TextEdit
from graphmend_lsp.text import Text, apply_edits

_PATH, _SUPPORT = "/p/a.py", "/p/graphmend_support.py"
_START = Span(Position(1, 1), Position(1, 1))


def _part(*names: str) -> str:
    return support_text(frozenset(names))


@pytest.mark.parametrize("then", [None, _part("check")])
@pytest.mark.parametrize(
    ("now", "offered"),
    [
        (None, {"defer"}),
        (_part("defer"), None),
        (_part("check"), {"check", "defer"}),
        (_part("check", "defer", "number"), None),
        ("x = 1\n", "dropped"),
    ],
)
def test_a_mend_adds_to_the_support_module_that_is_there_now(
    then: str | None, now: str | None, offered: set[str] | str | None
) -> None:
    """Another mend may have written it, or more of it, since the run."""
    old = Text(then or "")
    edits = (
        TextEdit(_PATH, _START, "y = 2\n"),
        TextEdit(_SUPPORT, Span(Position(1, 1), old.position(len(old.value))), _part("defer")),
    )
    seen = {_PATH: Text("x = 1\n"), **({_SUPPORT: old} if then else {})}
    here = {_PATH: Text("x = 1\n"), **({_SUPPORT: Text(now)} if now is not None else {})}
    candidate = Candidate(Mend("defer", "t", _PATH, _START, edits))
    moved = moved_candidate(Run(1, {}, seen), candidate, here.get)
    if offered == "dropped":
        assert moved is None
        return
    assert moved is not None and moved.mend.edits[0] == edits[0]
    new = [apply_edits(now or "", [edit]) for edit in moved.mend.edits[1:]]
    assert [{*names_of(text)} for text in new] == ([] if offered is None else [offered])


@pytest.mark.parametrize(
    ("now", "offered"),
    [("", {"defer"}), (_part("check"), {"check", "defer"}), (_part("defer", "number"), None), ("x = 1\n", "refused")],
)
def test_an_edit_that_was_made_before_it_was_there(now: str, offered: set[str] | str | None) -> None:
    """Static findings of other files keep their mends while a mend of this one writes the module."""
    edits = (TextEdit(_PATH, _START, "y = 2\n"), TextEdit(_SUPPORT, _START, _part("defer")))
    targets = {_PATH: Target(Text("x = 1\n")), _SUPPORT: Target(Text(now))}
    made = workspace_edit(edits, targets, Client(encoding="utf-32"))
    if offered == "refused":
        assert made is None
        return
    assert made is not None and made.changes is not None
    written = [one for uri, group in made.changes.items() if uri.endswith("graphmend_support.py") for one in group]
    assert [{*names_of(one.new_text)} for one in written] == ([] if offered is None else [offered])
    for one in written:
        assert (one.range.start.line, one.range.end.line) == (0, now.count("\n"))
