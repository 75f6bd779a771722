import torch


def shown(x):
    print("first", x[0])
    x.add_(1)
    return x * 2


def graphmend_entry():
    return shown, (torch.zeros(2),)
