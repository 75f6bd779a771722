import torch


def mix(x, y):
    if x.sum() > 0:
        return x + y
    return x * 2


def graphmend_entry():
    return mix, [(torch.ones(2, 3), torch.ones(2, 3)), (-torch.ones(2, 3), torch.ones(2, 3))]
