import torch


def above(x, limits):
    limit = limits.mean().item()
    return x.gt(limit).float()


def graphmend_entry():
    return above, (torch.randn(6), torch.rand(3))
