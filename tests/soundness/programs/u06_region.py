import torch


def region(x):
    if x.sum() > 0 and x.max() < 10:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def graphmend_entry():
    return region, (torch.randn(4),)
