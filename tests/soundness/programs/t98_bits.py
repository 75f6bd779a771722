import torch


def shifted(x, amount):
    return x * (1 << amount.item())


def graphmend_entry():
    return shifted, (torch.arange(4), torch.tensor(3))
