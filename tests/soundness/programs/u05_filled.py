import torch


def filled(x, y):
    mean = y.mean().item()
    return torch.where(torch.isnan(x), mean, x)


def graphmend_entry():
    return filled, (torch.tensor([1.0, float("nan"), 3.0]), torch.randn(3))
