import torch


def tiles(x, n):
    return x + n.item() // 3


def graphmend_entry():
    return tiles, (torch.randn(3), torch.tensor(10, dtype=torch.int32))
