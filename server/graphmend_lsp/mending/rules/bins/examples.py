"""What the bins rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.arange(1.0, 5.0),), (torch.zeros(3),), (torch.arange(20.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "values that are kept below",
        before="""\
import torch


def fn(x):
    counts = ⟦torch.bincount(x.long().clamp(0, 7), minlength=8)⟧
    return counts / counts.sum()  # shares
""",
        after="""\
import torch


def fn(x):
    counts = torch.nn.functional.one_hot(x.long().clamp(0, 7), 8).sum(0)
    return counts / counts.sum()  # shares
""",
        run=_X,
        gb_id="GB0036",
    ),
    Example(
        "a remainder, of a size that the module knows",
        before="""\
import torch
import torch.nn.functional as F


class Hashed(torch.nn.Module):
    def __init__(self, buckets):
        super().__init__()
        self.buckets = buckets

    def forward(self, x):
        keys = x.long() * 31
        return F.normalize(⟦(keys % self.buckets).bincount(minlength=self.buckets)⟧ + x.mean(), dim=0)
""",
        after="""\
import torch
import torch.nn.functional as F


class Hashed(torch.nn.Module):
    def __init__(self, buckets):
        super().__init__()
        self.buckets = buckets

    def forward(self, x):
        keys = x.long() * 31
        return F.normalize(F.one_hot(keys % self.buckets, self.buckets).sum(0) + x.mean(), dim=0)
""",
        run=_X + "fn = Hashed(6)\n",
        gb_id="GB0036",
    ),
    Example(
        "experts that are chosen: how many there are is the author's word",
        before="""\
import torch


def fn(logits, experts=4):
    chosen = logits.topk(2, dim=-1).indices
    load = ⟦torch.bincount(chosen.flatten(), minlength=experts)⟧
    return load / chosen.numel()
""",
        after="""\
import torch


def fn(logits, experts=4):
    chosen = logits.topk(2, dim=-1).indices
    load = torch.nn.functional.one_hot(chosen.flatten(), experts).sum(0)
    return load / chosen.numel()
""",
        run="calls = [(torch.arange(12.0).view(3, 4),), (-torch.arange(12.0).view(3, 4),)]\n",
        gb_id="GB0036",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "as many bins as the data says",
        """\
import torch


def fn(x):
    return ⟦torch.bincount(x.long())⟧ + 1
""",
        "say how many bins there are",
        gb_id="GB0036",
    ),
    Refusal(
        "weights",
        """\
import torch


def fn(x, w):
    return ⟦torch.bincount(x.long().clamp(0, 7), w, minlength=8)⟧ + 1
""",
        "round differently",
        gb_id="GB0036",
    ),
    Refusal(
        "a number of bins that is a tensor's",
        """\
import torch


def fn(x):
    return ⟦torch.bincount(x.long(), minlength=x.max() + 1)⟧ + 1
""",
        "is a tensor",
        gb_id="GB0036",
    ),
)
