import torch


def mixed(x, y):
    if y.mean() > 0:
        return x + y
    return x


def graphmend_entry():
    return mixed, [(torch.randn(2, 3), torch.ones(2, 3)), (torch.randn(2, 3), -torch.ones(2, 3))]
