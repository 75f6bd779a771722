"""What counts as an entry of a file."""

from __future__ import annotations

import pytest

from graphmend_lsp.analysis.entries import find_entries
from graphmend_lsp.model import Entry

MODEL = "import torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def graphmend_entry():\n    return f, ()\n", ["graphmend_entry"]),
        ("def graphmend_entry_b(): ...\ndef graphmend_entry_a(): ...\n", ["graphmend_entry_b", "graphmend_entry_a"]),
        ("if True:\n    def graphmend_entry(): ...\n", ["graphmend_entry"]),
        ("\ufeffdef graphmend_entry(): ...\n", ["graphmend_entry"]),
        ("@decorated\ndef graphmend_entry(): ...\n", ["graphmend_entry"]),
        ("def half(:\n\ndef graphmend_entry(): ...\n", ["graphmend_entry"]),
        ("def graphmend_entries(): ...\n", []),
        ("def f():\n    def graphmend_entry(): ...\n", []),
        ("class A:\n    def graphmend_entry(self): ...\n", []),
        ("graphmend_entry = 1\n", []),
        ("s = '''\ndef graphmend_entry(): ...\n'''\n", []),
        ("", []),
        ("\0", []),
    ],
)
def test_functions(source: str, names: list[str]) -> None:
    assert find_entries(source, "/a/b.py") == tuple(Entry("/a/b.py", name) for name in names)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (MODEL + "def get_inputs(): ...\ndef get_init_inputs(): ...\n", True),
        (MODEL + "def get_inputs(): ...\n", True),
        (MODEL, False),
        ("class Model:\n    pass\ndef get_inputs(): ...\n", False),
        ("def get_inputs(): ...\n", False),
    ],
)
def test_kernelbench(source: str, found: bool) -> None:
    assert find_entries(source, "k.py") == ((Entry("k.py", "Model", "kernelbench"),) if found else ())
