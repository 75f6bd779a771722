import torch


def norm(x):
    total = x.square().sum().item()
    return x / (total**0.5 + 1e-6)


def graphmend_entry():
    return norm, (torch.randn(4),)
