import warnings

import torch


def fn(x):
    h = x.cos()
    warnings.warn("noted")
    return h.sin()


def graphmend_entry():
    return fn, (torch.randn(3),)
