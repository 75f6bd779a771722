import torch


def rate(x, time, total):
    return x * (time.item() / total.item())


def graphmend_entry():
    return rate, (torch.randn(3, dtype=torch.float64), torch.tensor(3.0), torch.tensor(7.0))
