"""Each use of `uses.py` sees what only that use can see, and nothing where nothing changed."""

from __future__ import annotations

import pytest

from . import uses

_PROGRAM = """\
import warnings, torch
from torch import nn
NOTES = []
def helper(v):
    return v + 1
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.spare = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.kept = None
    def forward(self, x):
        {}
def graphmend_entry():
    return Net(), ({},)
"""
_FLOATS, _WHOLE = "torch.linspace(-1, 1, 12).reshape(3, 4)", "torch.arange(4)"

_WRONG = [
    ("cast to bfloat16", "return x * 2", "return x.float() * 2", _FLOATS),
    ("cast to float64", "return x * 2", "return x.float() * 2", _FLOATS),
    ("upper end of int64", "return x - 1", "return (x.double() - 1).long()", _WHOLE),
    ("upper end of uint8", "return x + 1", "return (x.int() + 1).to(x.dtype) if x.max() < 255 else x.int() + 1", _WHOLE),
    ("hooks", "return self.layer(x)", "return self.layer.forward(x)", _FLOATS),
    (
        "warnings as errors",
        "warnings.warn('late'); NOTES.append(1); return x",
        "NOTES.append(1); warnings.warn('late'); return x",
        _FLOATS,
    ),
    ("listeners", "print('now'); NOTES.append(1); return x", "NOTES.append(1); print('now'); return x", _FLOATS),
    (
        "callees that raise",
        "NOTES.append(1); return helper(x)",
        "y = helper(x); NOTES.append(1); return y",
        _FLOATS,
    ),
    (
        "shared state",
        "self.count += 1; return x + self.count",
        "self.count = self.count + 1; return x + self.count",
        _FLOATS,
    ),
    (
        "inputs changed before the backward pass",
        "return self.layer.weight * x.detach()[0].clone()",
        "return self.layer.weight * x.detach()[0]",
        _FLOATS,
    ),
    (
        "results changed before the backward pass",
        "return self.layer(x).exp().clone()",
        "return self.layer(x).exp()",
        _FLOATS,
    ),
    ("inputs transposed", "return x + 1", "return x.view(-1).view(x.shape) + 1", _FLOATS),
    ("inputs none", "return x + 1", "return x + 1 + 0 * x.max()", _FLOATS),
    ("inputs more", "return x + 1", "return x + torch.ones(3, 1)", _FLOATS),
    ("copies", "return x + 1", "self.kept = iter([x]); self.kept = (n for n in [1]); return x + 1", _FLOATS),
    ("steps", "return self.layer(x)", "return self.layer(x) + 0 * self.spare(x)", _FLOATS),
    ("dynamic=True", "return x + 1", "return x + torch.ones(3).new_ones(x.shape[0] if x.shape[0] < 4 else 1, 1) * (1 if x.shape[0] == 3 else 2)", _FLOATS),
]  # fmt: skip


@pytest.mark.parametrize(("use", "right", "wrong", "given"), _WRONG, ids=[one[0] for one in _WRONG])
def test_a_use_sees_what_it_is_for(tmp_path, use: str, right: str, wrong: str, given: str) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "program.py"
    original, mended = _PROGRAM.format(right, given), _PROGRAM.format(wrong, given)
    file.write_text(original)
    assert uses.difference(use, str(file), 0, (original, mended)) is not None
    assert uses.difference(use, str(file), 0, (original, original)) is None


@pytest.mark.slow
def test_no_use_is_without_calls(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A scene that always ends before its first call would see nothing."""
    file = tmp_path / "program.py"
    text = _PROGRAM.format("self.count += 1; return self.layer(helper(x))", _FLOATS)
    file.write_text(text)
    for name, scene in (uses.USES | uses.COMPILED).items():
        shown = uses.seen(scene, str(file), text, text, 0)
        assert any("outputs" in one for one in shown), (name, shown[-1])
    assert uses.differences(str(file), 0, (text, text), compiled=True) == []
