import torch


def limited(x, low, high):
    lo, hi = low.item(), high.item()
    return x.clamp(lo, hi)


def graphmend_entry():
    return limited, (torch.randn(4), torch.tensor(-1), torch.tensor(1))
