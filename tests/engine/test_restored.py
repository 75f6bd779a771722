"""Texts with some functions as they were before they were mended."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from graphmend_lsp.engine.restored import restored

OLD = """import torch


class Net:
    def forward(self, x):
        return first(x)

    def other(self, x):
        return x


def free(x):
    def inner():
        return 1

    return inner()
"""
NEW = """import torch
from support import told


class Net:
    @told
    def forward(self, x):
        y = first(x)
        return y

    def other(self, x):
        return x + 1


def free(x):
    def inner():
        return 2

    return inner()


def helper():
    return 3
"""
PATH = "/p/model.py"


@pytest.mark.parametrize(
    ("functions", "same", "other"),
    [
        ({"Net.forward"}, "return first(x)", "@told"),
        ({"forward"}, "return first(x)", "@told"),
        ({"free.<locals>.inner"}, "return 1", "return 2"),
        ({"free"}, "return 1", "return 2"),
        ({"Net.other", "Net.forward"}, "return x\n", "x + 1"),
    ],
)
def test_functions_are_as_they_were(functions: Collection[str], same: str, other: str) -> None:
    texts = restored({PATH: OLD}, {PATH: NEW}, [(PATH, one) for one in functions])
    assert texts is not None
    assert same in texts[PATH] and other not in texts[PATH]
    assert "from support import told" in texts[PATH] and "def helper" in texts[PATH]
    compile(texts[PATH], PATH, "exec")


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (OLD, NEW, "helper"),  # not in the old text
        (OLD, NEW, "missing"),
        (OLD, NEW + "\n\ndef free():\n    pass\n", "free"),  # twice
        (OLD, "def (", "free"),
    ],
)
def test_a_function_that_is_not_found_once_in_both_texts_is_not_restored(old: str, new: str, name: str) -> None:
    assert restored({PATH: old}, {PATH: new}, [(PATH, name)]) is None


def test_a_file_that_no_mend_changed_is_not_restored() -> None:
    assert restored({}, {}, [(PATH, "free")]) is None
