import torch


def check(x):
    if (x < 0).any():
        raise ValueError("negative in this file")
    return x.sqrt()


def graphmend_entry():
    return check, (torch.rand(4),)
