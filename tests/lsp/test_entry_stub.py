"""The stub that is written for what could not be run: about the right thing, with what is known of it."""

from __future__ import annotations

import ast
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from graphmend_lsp.lsp.documents import Document
from graphmend_lsp.lsp.entry_stub import make_stub
from graphmend_lsp.text import Text, apply_edits

TWO = (
    "class A(nn.Module):\n    def __init__(self, width): ...\n    def forward(self, ids, mask): ...\n"
    "class B(nn.Module):\n    def forward(self, x): ...\n"
)

CASES = {
    "last module": ("", "", ["model = B()", "x = torch.randn(2, 8)", "return model, (x,)"], 4),
    "the one that it is about": (
        "A", "", ["model = A(width=...)", "ids = torch.randint(0, 100, (2, 16))", "mask = torch.ones(2, 16", "return model, (ids, mask)"], 1,
    ),
    "what was found so far": (
        "A",
        "model = A(width=32)\nids = torch.randint(0, 64, (2, 16))",
        ["model = A(width=32)", "ids = torch.randint(0, 64, (2, 16))", "mask = torch.ones(2, 16", "return model, (ids, mask)"],
        1,
    ),
    "found by name only": (
        "B", "model = B()\nx = torch.randn(2, 3)\nlabels = torch.ones(2)",
        ["labels = torch.ones(2)", 'return model, {"x": x, "labels": labels}'], 4,
    ),
    "no lines of Python": ("B", "Segmentation fault\nat 0x00", ["model = B()", "return model, (x,)"], 4),
}  # fmt: skip


RUN: dict[str, tuple[str, str, str]] = {  # the source, what it is about, what was found so far
    "a configuration that learns its names": (
        "class A(nn.Module):\n    def __init__(self, config): self.width = config.width\n    def forward(self, x): return x\n",
        "A",
        "model = A(config=SimpleNamespace(width=8, inner=SimpleNamespace()))\nx = torch.randn(2, 8)",
    ),
    "layers and devices": (
        "class A(nn.Module):\n    def __init__(self, norm, where, act): ...\n    def forward(self, ids): return ids\n",
        "A",
        "model = A(norm=torch.nn.LayerNorm, where=torch.device(type='cpu'), act=nn.ReLU())\nids = torch.zeros(2, dtype=torch.long)",
    ),
    "nothing but the file": ("class A(nn.Module):\n    def forward(self, x): return x\n", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", RUN)
def test_a_stub_whose_arguments_are_known_runs(name: str) -> None:
    source, about, so_far = RUN[name]
    nn = SimpleNamespace(Module=object, ReLU=int, LayerNorm=int)
    torch = SimpleNamespace(nn=nn, device=dict, long=int, randn=lambda *_: 0, zeros=lambda *_, **__: 0)
    stub = make_stub(Document("file:///a.py", "/a.py", "python", 1, Text(source)), about, so_far)
    space: dict[str, Any] = {"nn": nn}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", torch)  # type: ignore[misc]
        exec(apply_edits(source, stub.edits), space)
        model, inputs = space["graphmend_entry"]()
    assert type(model).__name__ == "A"
    assert len(inputs) == 1


@pytest.mark.parametrize("name", CASES)
def test_stub(name: str) -> None:
    about, so_far, expected, line = CASES[name]
    stub = make_stub(Document("file:///a.py", "/a.py", "python", 1, Text(TWO)), about, so_far)
    assert stub.line == line
    written = apply_edits(TWO, stub.edits)
    ast.parse(written)
    assert written.startswith(TWO)
    added = written[len(TWO) :]
    for words in expected:
        assert words in added
