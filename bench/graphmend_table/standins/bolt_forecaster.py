"""A stand-in for a patch-based forecaster on T5 stacks: the decoder warns once about the form of its cache.

The warning is a method that a package has given to `logging.Logger`, and that keeps in a cache what it has said.
"""

import functools
import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


@functools.lru_cache(None)
def warning_once(self, *args, **kwargs):
    """Warn, but not again with the same message."""
    self.warning(*args, **kwargs)


logging.Logger.warning_once = warning_once


class Block(nn.Module):
    def __init__(self, width, is_decoder):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(width, 4, batch_first=True) if is_decoder else None
        self.norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, hidden, memory, padding):
        normed = self.norm(hidden)
        if self.cross is None:
            hidden = hidden + self.attention(normed, normed, normed, padding, need_weights=False)[0]
        else:
            hidden = hidden + self.attention(normed, normed, normed, need_weights=False)[0]
            hidden = hidden + self.cross(self.norm(hidden), memory, memory, padding, need_weights=False)[0]
        return hidden + self.feed(hidden)


class Stack(nn.Module):
    def __init__(self, width, layers, is_decoder):
        super().__init__()
        self.is_decoder = is_decoder
        self.blocks = nn.ModuleList(Block(width, is_decoder) for _ in range(layers))

    def forward(self, hidden, memory=None, padding=None, past_key_values=None, use_cache=True):
        if self.is_decoder and (use_cache or past_key_values is not None):
            if not isinstance(past_key_values, dict):
                logger.warning_once("A tuple as cache is deprecated; give a dict of keys and values.")
                past_key_values = dict(enumerate(past_key_values or ()))
        elif not self.is_decoder:
            past_key_values = None
        for block in self.blocks:
            hidden = block(hidden, memory, padding)
        return hidden


class InstanceNorm(nn.Module):
    def forward(self, series):
        location = torch.nan_to_num(torch.nanmean(series, dim=-1, keepdim=True), nan=0.0)
        scale = torch.nan_to_num(torch.nanmean((series - location).square(), dim=-1, keepdim=True).sqrt(), nan=1.0)
        scale = torch.where(scale == 0, location.abs() + 1e-5, scale)
        return (series - location) / scale, location, scale


class Forecaster(nn.Module):
    def __init__(self, patch=4, width=32, horizon=8, quantiles=3):
        super().__init__()
        self.patch, self.horizon, self.quantiles = patch, horizon, quantiles
        self.norm = InstanceNorm()
        self.embed = nn.Linear(2 * patch, width)
        self.encoder, self.decoder = Stack(width, 2, is_decoder=False), Stack(width, 2, is_decoder=True)
        self.start = nn.Parameter(torch.randn(1, 1, width))
        self.head = nn.Linear(width, horizon * quantiles)

    def forward(self, series):
        mask = torch.isnan(series).logical_not().to(series.dtype)
        normed, location, scale = self.norm(series)
        patches, masks = (one.unfold(-1, self.patch, self.patch) for one in (normed, mask))
        patches = torch.where(masks > 0, patches, 0.0)
        padding = masks.sum(-1) <= 0
        memory = self.encoder(self.embed(torch.cat([patches, masks], -1)), padding=padding)
        decoded = self.decoder(self.start.expand(series.shape[0], -1, -1), memory, padding)
        out = self.head(decoded).view(-1, self.quantiles, self.horizon)
        return out * scale.unsqueeze(1) + location.unsqueeze(1)


def graphmend_entry():
    return Forecaster(), [(torch.randn(2, 16),), (torch.randn(2, 12) * 3,)]
