import torch


def halves(x):
    n = x.shape[0] // 2
    if x[:n].sum() > x[n:].sum():
        return x[:n]
    return x[n:]


def graphmend_entry():
    return halves, [(torch.tensor([3.0, 1.0, 1.0, 0.0]),), (torch.tensor([0.0, 1.0, 1.0, 3.0]),)]
