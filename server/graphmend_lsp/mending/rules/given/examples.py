"""What the given rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_RUN = """\
import torch
calls = [(torch.arange(4.0),), (torch.arange(4.0) - 9,), (-torch.ones(4),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "an argument that is used where the condition holds",
        before="""\
import torch


def fn(x, audio=None):
    y = x * 2
    if ⟦torch.any(x > 5)⟧:
        # The features take the place of their marks.
        y = torch.where(x > 5, audio["features"], y)
    return y + 1
""",
        after="""\
import torch


def fn(x, audio=None):
    y = x * 2
    if audio is None:
        torch._assert_async(~torch.any(x > 5), "`audio` is None where it is needed")
    if audio is not None and torch.any(x > 5):
        # The features take the place of their marks.
        y = torch.where(x > 5, audio["features"], y)
    return y + 1
""",
        run=_RUN,
    ),
    Example(
        "a Python part, and both ways through the block",
        before="""\
import torch


def fn(x, past=None, audio=None):
    y = x * 2
    if past is None and ⟦(x > 5).any()⟧:
        place = torch.where(x > 5)
        if isinstance(audio, dict):
            audios = audio["all"]
        else:
            audios = torch.cat([one["all"] for one in audio])
    else:
        audios = None
    return y + 1 if audios is None else y + audios
""",
        after="""\
import torch


def fn(x, past=None, audio=None):
    y = x * 2
    if audio is None and past is None:
        torch._assert_async(~(x > 5).any(), "`audio` is None where it is needed")
    if audio is not None and past is None and (x > 5).any():
        place = torch.where(x > 5)
        if isinstance(audio, dict):
            audios = audio["all"]
        else:
            audios = torch.cat([one["all"] for one in audio])
    else:
        audios = None
    return y + 1 if audios is None else y + audios
""",
        run=_RUN,
    ),
    Example(
        "an attribute, and a loop over the argument",
        before="""\
import torch


def fn(x, boxes=None):
    # Boxes come along with a picture only, and where they do, the marks that stand for them are the large numbers.
    y = x.cos()
    if ⟦x.sum() > 99⟧ or x.min() > 9:
        for box in boxes:
            y = y + box
    return y
""",
        after="""\
import torch


def fn(x, boxes=None):
    # Boxes come along with a picture only, and where they do, the marks that stand for them are the large numbers.
    y = x.cos()
    if boxes is None:
        torch._assert_async(~((x.sum() > 99) | (x.min() > 9)), "`boxes` is None where it is needed")
    if boxes is not None and (x.sum() > 99 or x.min() > 9):
        for box in boxes:
            y = y + box
    return y
""",
        run=_RUN,
    ),
)


def _refused(title: str, body: str, reason: str) -> Refusal:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return Refusal(title, f"import torch\n\n\ndef fn(x, other=None):\n    y = x * 2\n{lines}    return y\n", reason)


_MAY = "The block may run without `other`"
REFUSALS: tuple[Refusal, ...] = (
    _refused("an argument that may stay None", "if ⟦x.sum() > 0⟧:\n    y = y if other is None else y + other.x", _MAY),
    _refused("one of two ways", "if ⟦x.sum() > 0⟧:\n    if len(y) > 2:\n        y = other.x\n    y = y + 1", _MAY),
    _refused("an effect before", "if ⟦x.sum() > 0⟧:\n    print(y)\n    y = other.x", _MAY),
    _refused("an effect before, in the same expression", "if ⟦x.sum() > 0⟧:\n    y = print(y) or other.x", _MAY),
    _refused("a value stored before", "if ⟦x.sum() > 0⟧:\n    x[0] = 1\n    y = other.x", _MAY),
    _refused("a test of its own", "if ⟦x.sum() > 0⟧:\n    y = other and other.x", _MAY),
    _refused("a function of its own", "if ⟦x.sum() > 0⟧:\n    y = (lambda: other.x) and y", _MAY),
    _refused("the name gets a value", "if ⟦x.sum() > 0⟧:\n    other = y\n    y = other.x", _MAY),
    _refused("what None has too", "if ⟦x.sum() > 0⟧:\n    y = other.__class__", _MAY),
    _refused(
        "an elif",
        "if len(x) > 9:\n    y = x\nelif ⟦x.sum() > 0⟧:\n    y = other.x",
        "An `elif` leaves no place for a test before it",
    ),
)
