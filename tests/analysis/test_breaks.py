"""Annotated sources: everything that is marked is found, exactly there, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphmend_lsp.analysis import find_breaks
from graphmend_lsp.model import Span
from graphmend_lsp.text import Text

CASES = Path(__file__).parent / "cases"
HEADER = (
    "import contextlib, copy, functools, logging, math, random, sys, time, warnings; import numpy as np; import torch; "
    "import torch.nn as nn; import torch.nn.functional as F; from torch import Tensor; from typing import *; "
    "from jaxtyping import Float; from transformers.utils import logging as hf_logging\n"
    "from transformers import SomePreTrainedModel\n"
    "logger = hf_logging.get_logger(__name__)\n"
)
_MARK = re.compile(r"^\s*#\s*(\^+) (\w+)(?:<(\w+))?\s*$")


def cases(name: str) -> list[tuple[str, str]]:
    parts = re.split(r"^### (.+)\n", (CASES / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def marked(source: str) -> set[tuple[int, int, int, str, str | None]]:
    """(line, first column, column behind, id, id of the cause) of every mark.

    Where the code begins under the `#` itself, carets that follow it at once begin there.
    """
    found = set()
    lines = source.splitlines()
    code = 0
    for number, line in enumerate(lines):
        mark = _MARK.match(line)
        if mark is None:
            code = number
            continue
        sharp = line.index("#")
        at_once = mark.start(1) == sharp + 2 and not lines[code][:sharp].strip() and not lines[code][sharp].isspace()
        found.add((code + 1, (sharp if at_once else mark.start(1)) + 1, mark.end(1) + 1, mark[2], mark[3]))
    return found


def found(source: str) -> set[tuple[int, int, int, str, str | None]]:
    return {
        (s.span.start.line, s.span.start.column, s.span.end.column, str(s.gb_id), s.root_gb_id)
        for s in find_breaks(source, "case.py")
        if s.span.start.line == s.span.end.line
    }


@pytest.mark.parametrize(("title", "source"), cases("found.txt"), ids=lambda value: value if "\n" not in value else "")
def test_found(title: str, source: str) -> None:
    assert marked(source), "a case here must have a mark"
    assert found(HEADER + source) == marked(HEADER + source)


@pytest.mark.parametrize(
    ("title", "source"), cases("left_alone.txt"), ids=lambda value: value if "\n" not in value else ""
)
def test_left_alone(title: str, source: str) -> None:
    text = Text(HEADER + source)
    assert not marked(source)
    assert [text.line(site.span.start.line) for site in find_breaks(text.value, "case.py")] == []


def test_spans_of_several_lines_are_exact() -> None:
    source = "import torch\n@torch.compile\ndef f(x):\n    print(\n        x,\n    )\n    return x\n"
    (site,) = find_breaks(source, "a.py")
    assert site.span == Span.of(4, 5, 6, 6)
    assert site.path == "a.py"
    assert site.evidence == "static"


def test_a_break_says_what_it_costs_and_what_to_do() -> None:
    source = "import torch\n@torch.compile\ndef f(x):\n    for i in range(3):\n        print(i)\n    return x\n"
    (site,) = find_breaks(source, "a.py")
    assert site.outcome == "frame skipped"
    assert "print(i)" in site.reason
    assert "whole function" in site.reason
    assert site.code == "GB0059"
    assert site.gb_type == "graph break in loop"
    assert site.hints


def test_findings_are_in_the_order_of_the_text() -> None:
    source = "import torch\ndef g(x):\n    print(x)\n@torch.compile\ndef f(x):\n    print(1)\n    g(x)\n    print(2)\n"
    assert [site.span.start.line for site in find_breaks(source, "a.py")] == [3, 6, 8]


def test_the_same_text_gives_the_same_findings_again() -> None:
    source = HEADER + "".join(source for _, source in cases("found.txt")[:6])
    assert find_breaks(source, "a.py") == find_breaks(source, "a.py")
