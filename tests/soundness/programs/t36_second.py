import torch


def energy(x):
    if x.max() > 2:
        y = x * 3
    else:
        y = x.abs().sqrt() * x
    return y.sum()


def graphmend_entry():
    return energy, [(torch.rand(3) + 3,), (torch.rand(3),)]
