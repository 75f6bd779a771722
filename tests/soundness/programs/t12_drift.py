import torch


def drift(x, step):
    return x + (step.item() + 1e-9)


def graphmend_entry():
    return drift, (torch.randn(3, dtype=torch.float64), torch.tensor(1.0))
