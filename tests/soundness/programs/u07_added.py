import torch


def added(x, y):
    x = x.clone()
    x += y.max().item()
    return x


def graphmend_entry():
    return added, (torch.randn(4), torch.randn(3))
