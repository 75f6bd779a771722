"""A stand-in for a patch-based forecaster on T5 stacks: each stack warns once about an option that gradients do not go with."""

import logging
from functools import lru_cache

import torch
from torch import nn

logger = logging.getLogger(__name__)


@lru_cache(None)
def warning_once(message):
    logger.warning(message)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, hidden, context):
        hidden = hidden + self.attention(self.norm(hidden), context, context, need_weights=False)[0]
        return hidden + self.feed(hidden)


class Stack(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.gradient_checkpointing = True

    def forward(self, hidden, context=None, use_cache=True):
        if self.gradient_checkpointing and use_cache:
            warning_once("`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`...")
            use_cache = False
        for block in self.blocks:
            hidden = block(hidden, hidden if context is None else context)
        return hidden


class InstanceNorm(nn.Module):
    def forward(self, series):
        # A series without any value is left as it is.
        scale = series.std(-1, keepdim=True)
        if torch.isnan(scale).any():
            scale = torch.nan_to_num(scale, nan=1.0)
        location = series.mean(-1, keepdim=True)
        return (series - location) / (scale + 1e-5), location, scale


class Forecaster(nn.Module):
    def __init__(self, patch=4, width=32, horizon=8, quantiles=3):
        super().__init__()
        self.patch, self.horizon, self.quantiles = patch, horizon, quantiles
        self.norm = InstanceNorm()
        self.embed = nn.Linear(patch, width)
        self.encoder, self.decoder = Stack(width, 2), Stack(width, 2)
        self.start = nn.Parameter(torch.randn(1, 1, width))
        self.head = nn.Linear(width, horizon * quantiles)

    def forward(self, series):
        normed, location, scale = self.norm(series)
        patches = normed.unfold(-1, self.patch, self.patch)
        memory = self.encoder(self.embed(patches))
        decoded = self.decoder(self.start.expand(series.shape[0], -1, -1), memory)
        out = self.head(decoded).view(-1, self.quantiles, self.horizon)
        return out * scale.unsqueeze(1) + location.unsqueeze(1)


def graphmend_entry():
    return Forecaster(), [(torch.randn(2, 16),), (torch.randn(2, 12) * 3,)]
