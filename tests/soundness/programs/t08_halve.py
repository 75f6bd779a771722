import torch


def halve(x, count):
    return x * (count.item() / 2)


def graphmend_entry():
    return halve, (torch.randn(4, dtype=torch.float64), torch.tensor(8))
