"""A stand-in for a vision-language encoder in half precision: each layer clamps what has overflowed."""

import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = residual + self.mix(self.norm(hidden_states))
        hidden_states = hidden_states + self.feed(hidden_states)
        if hidden_states.dtype == torch.float16 and (
            torch.isinf(hidden_states).any() or torch.isnan(hidden_states).any()
        ):
            clamp_value = torch.finfo(hidden_states.dtype).max - 1000
            hidden_states = torch.clamp(hidden_states, min=-clamp_value, max=clamp_value)
        return hidden_states


class Encoder(nn.Module):
    def __init__(self, width=32, layers=4):
        super().__init__()
        self.project = nn.Linear(3 * 8 * 8, width)
        self.layers = nn.ModuleList(EncoderLayer(width) for _ in range(layers))

    def forward(self, pixels):
        patches = pixels.unfold(2, 8, 8).unfold(3, 8, 8).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        hidden = self.project(patches)
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


def graphmend_entry():
    small, large = torch.randn(2, 3, 16, 16).half(), torch.full((2, 3, 16, 16), 6e4).half()
    return Encoder().half(), [(small,), (large,), (small,)]
