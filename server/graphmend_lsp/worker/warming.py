"""What is compiled once before children are forked, so that they find Dynamo's caches filled and its modules imported.

A small model with what most models have, and a break on a value. Nothing of it outlives the warm-up but what torch keeps
of itself; it takes no random numbers from a generator that a program sees, warns of nothing, and prints nothing.
Imports torch; runs in the process that forks, with one thread.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .cuda import untouched

# under which backend, whether with a backward pass; aot_eager's own partitioner would import all of inductor
RUNS = (("eager", False), ("aot_eager_default_partitioner", True))


class Part(nn.Module):
    """Attention and a feed-forward layer, with the views and permutations that go with them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(0.1)
        self.qkv, self.down = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        """`x` is (batch, length, width)."""
        batch, length, width = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.dropout(functional.gelu(self.down(mixed.transpose(1, 2).reshape(batch, length, width)))) * scale


class Whole(nn.Module):
    """A part between an embedding and a head, and a break: a branch on a value."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(8, width)
        self.parts = nn.ModuleList([Part(width)])
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU())

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        """`ids` is (batch, length)."""
        x = self.words(ids) + torch.arange(ids.shape[1], dtype=torch.float32)[None, :, None]
        for part in self.parts:
            x = part(x, scale=0.5)
        if mask is not None:
            x = torch.where(mask[..., None], x, torch.zeros_like(x))
        if x.sum() > 0:
            x = torch.cat([x, x * 2], dim=-1)[..., : x.shape[-1]]
        else:
            x = x - 1
        return {"out": torch.softmax(self.head(x), dim=-1)}


def forks_can_differentiate() -> bool:
    """Whether forks of a process that made or traced a backward pass can make one: with a torch that knows a GPU none can."""
    return torch.version.cuda is None and torch.version.hip is None


def warm(runs: Sequence[tuple[str, bool]] = RUNS) -> None:
    """Compile and run it as in `RUNS`; Dynamo is reset behind each. Leaves no thread behind that was not there before."""
    _run(runs)
    bars: Any = getattr(sys.modules.get("tqdm.std"), "tqdm", None)  # torch shows progress with it; it watches its bars
    if (monitor := getattr(bars, "monitor", None)) is not None:
        monitor.exit()
        bars.monitor = None


def rehearse() -> None:
    """Run it as an analysis would, in a fork that will run one: what that touches is its own from then on."""
    _run(RUNS[:1])


def _run(runs: Sequence[tuple[str, bool]]) -> None:
    importlib.invalidate_caches()
    generator = torch.random.get_rng_state()
    try:
        for backend, train in runs:
            torch._dynamo.reset()
            model = Whole().train(train)
            with untouched(), torch.set_grad_enabled(forks_can_differentiate()):
                out = torch.compile(model, backend=backend)(torch.zeros(1, 3, dtype=torch.long))["out"]
                if train and out.requires_grad:
                    out.sum().backward()
    finally:
        torch.random.set_rng_state(generator)
        torch._dynamo.reset()
