import torch


def scaled(x, scale: float):
    total = x
    while total.sum() > 4:
        total = total * scale
    return total


def graphmend_entry():
    return scaled, [(torch.rand(4) + 2, 0.5), (torch.rand(3), 0.25)]
