import torch


def lookup(x, ids):
    return x[ids.max().item()]


def graphmend_entry():
    return lookup, (torch.randn(5, 3), torch.tensor([0, 3]))
