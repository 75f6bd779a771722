import torch


def topmost(x, k):
    return x.topk(k.item()).values.sum()


def graphmend_entry():
    return topmost, (torch.randn(8), torch.tensor(3))
