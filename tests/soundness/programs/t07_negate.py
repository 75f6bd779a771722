import torch


def negate(x, level):
    return x * -level.item()


def graphmend_entry():
    return negate, (torch.randn(4), torch.tensor(3, dtype=torch.uint8))
