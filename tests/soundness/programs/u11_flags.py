import torch


def counted(x):
    total = x.sum().item()
    return x * total


def graphmend_entry():
    return counted, (torch.randn(4),)
