import torch


def span(x, ids):
    width = ids.max().item() - ids.min().item() + 1
    return x * width


def graphmend_entry():
    return span, (torch.randn(4), torch.tensor([1, 5, 3], dtype=torch.int8))
