"""Words that a user reads in a menu."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmend_lsp.lsp.render import action_title, escaped
from graphmend_lsp.model import Candidate, Counts, Mend, Span, Verdict

SAFE = Verdict("safe", (), Counts(2, 1, 0), Counts(1, 0, 0), "bit-equal", "bit-equal", "bit-equal", "equal", 4)
TITLES = [
    ("Choose both sides with torch.where", "choose both sides with torch.where"),
    ("Mend graph break: choose both sides with torch.where", "choose both sides with torch.where"),
    ("Mend graph break: Choose both sides.", "choose both sides"),
    ("A print is moved to the end", "a print is moved to the end"),
    ("RuntimeError is raised after the graph", "RuntimeError is raised after the graph"),
    ("T5Stack logs once", "T5Stack logs once"),
    ("torch.where chooses", "torch.where chooses"),
]


@pytest.mark.parametrize(("title", "shown"), TITLES)
def test_every_mend_reads_alike_in_the_menu(title: str, shown: str) -> None:
    mend = Mend("where", title, "/a.py", Span.of(1, 1, 1, 2), ())
    assert action_title(Candidate(mend, SAFE)) == f"Mend graph break: {shown}"
    assert action_title(Candidate(mend)) == f"Mend graph break: {shown} (not verified yet)"


SEVERAL = [
    (SAFE, (), "x (2 → 1 graphs, 1 → 0 breaks)"),
    (SAFE, ("The text appears later.", "More."), "x (2 → 1 graphs, 1 → 0 breaks; The text appears later)"),
    (
        replace(SAFE, safety="unsafe", reasons=("sums differ",)),
        (),
        "x (unsafe: sums differ; 2 → 1 graphs, 1 → 0 breaks)",
    ),
    (None, (), "x (not verified yet)"),
    (
        replace(SAFE, safety="unverified", reasons=("verification stopped: out of time",), after=SAFE.before),
        (),
        "x (not verified: verification stopped: out of time)",
    ),
]


@pytest.mark.parametrize(("verdict", "changes", "shown"), SEVERAL)
def test_one_of_several_mends_says_what_it_saves_and_changes(
    verdict: Verdict | None, changes: tuple[str, ...], shown: str
) -> None:
    mend = Mend("where", "X", "/a.py", Span.of(1, 1, 1, 2), (), changes=changes)
    assert action_title(Candidate(mend, verdict), one_of_several=True) == f"Mend graph break: {shown}"


ESCAPED = {
    "or into __init__ of it": r"or into \_\_init\_\_ of it",
    "modeling_rope_utils.py:50": "modeling_rope_utils.py:50",
    "`__init__` and <lambda>": r"`__init__` and \<lambda>",
    "**Mend:** a * b [x]": r"**Mend:** a \* b \[x\]",
    "a long `*args` and *args": r"a long `*args` and \*args",
    "- an item\n* one": "- an item\n* one",
}


@pytest.mark.parametrize("words", ESCAPED)
def test_words_read_in_markdown_as_they_are(words: str) -> None:
    assert escaped(words) == ESCAPED[words]


def test_a_long_reason_is_cut_in_a_title() -> None:
    verdict = replace(SAFE, safety="unsafe", reasons=("differs under bfloat16 autocast: " + "by 0.1 " * 60, "more"))
    title = action_title(Candidate(Mend("where", "X", "/a.py", Span.of(1, 1, 1, 2), ()), verdict))
    assert title.startswith("Mend graph break: x (unsafe: differs under bfloat16 autocast: by 0.1")
    assert len(title) <= 80
    long = Candidate(Mend("where", "choose " + "a and " * 7 + "b", "/a.py", Span.of(1, 1, 1, 2), ()), verdict)
    assert action_title(long).endswith("b (unsafe)")
    longest = action_title(replace(long, mend=replace(long.mend, title="word " * 40)))
    assert longest.endswith("… (unsafe)")
    assert len(longest) <= 80
