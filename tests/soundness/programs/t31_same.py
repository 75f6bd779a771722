import torch


def same(x):
    if x.max() > 10:
        return x * 0.1
    return x


def graphmend_entry():
    return same, [(torch.ones(3) * 20,), (torch.ones(3),)]
