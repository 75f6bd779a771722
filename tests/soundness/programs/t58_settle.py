import torch


def settle(x):
    for _ in range(1_000):
        new = (x + 2 / x) / 2
        if (new - x).abs().max() < 1e-3:
            break
        x = new
    return x


def graphmend_entry():
    return settle, (torch.rand(4) + 1,)
