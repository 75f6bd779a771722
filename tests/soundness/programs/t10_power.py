import torch


def scale(x, bits):
    return x / (2 ** bits.item() - 1)


def graphmend_entry():
    return scale, (torch.randn(4), torch.tensor(4, dtype=torch.uint8))
