import torch


def distinct(x):
    return torch.unique(x) + 1


def graphmend_entry():
    return distinct, (torch.tensor([1.0, 2.0, 2.0, -1.0]),)
