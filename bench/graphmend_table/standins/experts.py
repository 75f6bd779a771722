"""A stand-in for a mixture of experts: each expert gathers the tokens that were routed to it."""

import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(width, 64), nn.Linear(width, 64), nn.Linear(64, width)

    def forward(self, hidden):
        return self.down(nn.functional.silu(self.gate(hidden)) * self.up(hidden))


class SparseBlock(nn.Module):
    def __init__(self, width, experts=4, top=2):
        super().__init__()
        self.num_experts, self.top = experts, top
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def forward(self, hidden_states):
        batch, length, width = hidden_states.shape
        hidden_states = hidden_states.view(-1, width)
        weights = torch.softmax(self.router(hidden_states), dim=1)
        weights, selected = torch.topk(weights, self.top, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        final = torch.zeros_like(hidden_states)
        expert_mask = nn.functional.one_hot(selected, self.num_experts).permute(2, 1, 0)
        for index in range(self.num_experts):
            rank, token = torch.where(expert_mask[index])
            current = hidden_states[token]
            final.index_add_(0, token, self.experts[index](current) * weights[token, rank, None])
        return final.view(batch, length, width)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.sparse = nn.LayerNorm(width), SparseBlock(width)

    def forward(self, hidden):
        return hidden + self.sparse(self.norm(hidden))


class MixtureOfExperts(nn.Module):
    def __init__(self, width=32, layers=2):
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = nn.Linear(width, 64)

    def forward(self, input_ids):
        hidden = self.embed(input_ids)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden)


def graphmend_entry():
    return MixtureOfExperts(), [(torch.randint(0, 64, (2, 7)),), (torch.randint(0, 64, (2, 5)),)]
