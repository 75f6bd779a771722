import torch


def tail(x):
    if x.mean() > 0:
        return x[:, -4:]
    return x[:, :4]


def graphmend_entry():
    return tail, [(torch.ones(2, 6),), (-torch.ones(2, 6),)]
