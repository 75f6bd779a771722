import torch


def level(x, y):
    peak = y.abs().max().item()
    return x * peak


def graphmend_entry():
    return level, (torch.randn(4), torch.randn(3))
