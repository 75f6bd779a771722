import torch


def windowed(x, width):
    n = int(width.item())
    return x[:, :n].mean(1)


def graphmend_entry():
    return windowed, (torch.randn(2, 8), torch.tensor(3.0))
