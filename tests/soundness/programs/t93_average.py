import torch


def averaged(total, count):
    return total.item() / count.item()


def scaled(x, total, count):
    return x - averaged(total, count)


def graphmend_entry():
    return scaled, (torch.randn(3, dtype=torch.float64), torch.tensor(10), torch.tensor(3))
