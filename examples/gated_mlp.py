"""A small gated MLP, as people write them: a branch on activations, a note to the log, a check of the input.

    graphmend-lsp check examples/gated_mlp.py
    graphmend-lsp mend examples/gated_mlp.py --diff
"""

import warnings

import torch
from torch import nn


class GatedBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.up(self.norm(x))
        # Keep rare spikes from spreading through the residual stream.
        if h.abs().max() > 2.5:
            h = h.clamp(-2.5, 2.5)  # hard limit
        else:
            h = torch.nn.functional.gelu(h)
        return x + self.down(h)


class GatedMLP(nn.Module):
    def __init__(self, width: int = 16, depth: int = 2) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(GatedBlock(width) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype == torch.float64:
            warnings.warn("float64 input is slow")
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        print("logits", tuple(logits.shape))
        return logits.log_softmax(-1)


def graphmend_entry():
    torch.manual_seed(0)
    return GatedMLP(), (torch.randn(8, 16),)
