import torch


def first(x, scores):
    for row in range(x.shape[0]):
        if scores[row] > 0.5:
            return x[row].exp().sum()
    return x.sum()


def graphmend_entry():
    return first, (torch.randn(64, 8), torch.rand(64))
