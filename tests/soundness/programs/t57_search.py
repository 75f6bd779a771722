import torch


def search(x, limit: int = 2_000):
    for step in range(limit):
        if x.norm() > 10:
            break
        x = x * 2
    return x


def graphmend_entry():
    return search, (torch.ones(4),)
