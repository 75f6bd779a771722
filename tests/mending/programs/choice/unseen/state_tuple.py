"""Mended: a state of two tensors kept or renewed."""

import torch


def forward(x):
    state = (x[0], x[1])
    for row in (x[2], x[3]):
        h, c = state
        new_h = torch.tanh(row + h)
        new_c = c * 0.5 + new_h
        if row.abs().max() > 0.5:
            state = (new_h, new_c)
    return state[0] + state[1]


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
