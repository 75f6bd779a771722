import torch


def magnitude(x):
    if x.sum() > 0:
        return x.norm()
    return x.sum() * 0


def graphmend_entry():
    return magnitude, [(torch.ones(3),), (-torch.ones(3),)]
