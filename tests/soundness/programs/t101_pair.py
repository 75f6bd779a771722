import torch


def ordered(a, b):
    if a.sum() > b.sum():
        return a, b
    return b, a


def graphmend_entry():
    return ordered, [(torch.ones(2), torch.zeros(2)), (torch.zeros(2), torch.ones(2))]
