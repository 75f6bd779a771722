import torch


def shifted(x, lengths):
    first = lengths.min().item()
    return x - first


def graphmend_entry():
    return shifted, (torch.randn(5), torch.tensor([4, 2, 3]))
