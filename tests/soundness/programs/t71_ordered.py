import torch


def validate(x, y):
    if x.isnan().any():
        raise ValueError("x")
    if y.isnan().any():
        raise TypeError("y")
    return x + y


def graphmend_entry():
    return validate, (torch.rand(3), torch.rand(3))
