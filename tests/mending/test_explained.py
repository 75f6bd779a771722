"""The comment line that a mend gets where a reader would wonder: one at most, said once in a file, and not where it is off."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose, rules_by_name
from graphmend_lsp.mending.rule import Example, Style
from graphmend_lsp.text import apply_edits

from .conftest import PATH, seen_in, unmark

_EXAMPLES = {(name, one.title): one for name, rule in rules_by_name().items() for one in rule.examples}
_NOTED = {
    ("where", "square root of the side not taken"): "# The inner where makes",
    ("where", "elif"): "",
    ("where", "nested branches"): "",
    ("index", "the largest element"): "# The index stays a tensor",
    ("defer", "a text in a loop"): "# Runs after",
    ("defer", "a print in the compiled function"): "",
    ("defer", "a warning"): "# Called while TorchDynamo traces",
    ("guard", "an assert that reads a tensor's value"): "# `check` raises",
    ("guard", "a check of the compiled function"): "",
    ("computed", "a square root of Python's"): "# One operator",
    ("opaque", "lengths read one by one"): "",  # its docstring says so
    ("capture", "a gradient by autograd.grad"): "# TorchDynamo keeps torch.autograd.grad",
    ("printed", "a text"): "",
}


def _after(name: str, text: str, example: Example, style: Style | None = None) -> str:
    value, site = unmark(text, example.outermost, example.gb_id)
    mends = propose(site, {PATH: value}, [name], seen_in(value, example.seen), {PATH: style or Style()}).mends
    return apply_edits(value, mends[0].edits)


@pytest.mark.parametrize("case", _NOTED, ids=[" ".join(one) for one in _NOTED])
def test_what_is_not_plain_gets_one_line(case: tuple[str, str]) -> None:
    example, words = _EXAMPLES[case], _NOTED[case]
    comments = [line for line in example.after.splitlines() if line.lstrip().startswith("#")]
    assert len(comments) == bool(words) and all(line.lstrip().startswith(words) for line in comments)


@pytest.mark.parametrize("case", _EXAMPLES, ids=[" ".join(one) for one in _EXAMPLES])
def test_no_mend_gets_more_and_the_code_is_the_same(case: tuple[str, str]) -> None:
    example = _EXAMPLES[case]
    quiet = _after(case[0], example.before, example, Style(comments=False))
    added = [line for line in example.after.splitlines() if line not in quiet.splitlines()]
    assert len(added) <= 1 and all(line.lstrip().startswith("# ") for line in added)
    assert "".join(line for line in example.after.splitlines(True) if line.rstrip("\r\n") not in added) == quiet


def test_a_file_says_it_once() -> None:
    example = _EXAMPLES["index", "the largest element"]
    comment = next(line for line in example.after.splitlines() if "index stays" in line)
    assert _after("index", f"{comment.strip()}\n{example.before}", example).count("# The index stays") == 1
    above = example.before.replace("    return", "    # the best one\n    return")
    assert above != example.before and "index stays" not in _after("index", above, example)


def test_a_line_that_is_too_long_is_not_written() -> None:
    example = _EXAMPLES["index", "the largest element"]
    assert "#" not in _after("index", example.before, example, Style(line_length=60))
