"""A stand-in for a molecule model with linear attention: each layer checks the mask that it is given."""

import torch
from torch import nn


class LinearAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, hidden, attention_mask):
        if not torch.equal(attention_mask, torch.ones_like(attention_mask)):
            raise ValueError("linear attention does not support arbitrary masks")
        batch, length, width = hidden.shape
        shape = (batch, length, self.heads, width // self.heads)
        query = torch.relu(self.query(hidden)).view(shape) + 1
        key = torch.relu(self.key(hidden)).view(shape) + 1
        value = self.value(hidden).view(shape)
        summary = torch.einsum("blhd,blhe->bhde", key, value)
        scale = 1 / torch.einsum("blhd,bhd->blh", query, key.sum(1))
        mixed = torch.einsum("blhd,bhde->blhe", query, summary) * scale.unsqueeze(-1)
        return mixed.reshape(batch, length, width)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention, self.norm = LinearAttention(width, 4), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, hidden, attention_mask):
        hidden = self.norm(hidden + self.attention(hidden, attention_mask))
        return hidden + self.feed(hidden)


class MoleculeEncoder(nn.Module):
    def __init__(self, width=32, layers=5):
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))

    def forward(self, input_ids, attention_mask):
        hidden = self.embed(input_ids)
        for layer in self.layers:
            hidden = layer(hidden, attention_mask)
        return hidden


def graphmend_entry():
    return MoleculeEncoder(), [(ids, torch.ones_like(ids)) for ids in (torch.randint(0, 64, (2, n)) for n in (9, 6))]
