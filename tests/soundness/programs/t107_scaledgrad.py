import torch


def clipped(x, limit):
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x


def graphmend_entry():
    return clipped, [(torch.ones(4) * 3, torch.tensor(1.0)), (torch.ones(4) * 0.1, torch.tensor(1.0))]
