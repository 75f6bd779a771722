import torch


def normalised(x):
    tries = 0
    while x.abs().max() > 1 and tries < 1_000:
        x = x / 2
        tries += 1
    return x, tries


def graphmend_entry():
    return normalised, (torch.randn(4) * 8,)
