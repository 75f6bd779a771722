import warnings

import torch


def old(x, ratio=None):
    if ratio is not None:
        warnings.warn("ratio is deprecated", DeprecationWarning, stacklevel=2)
        x = x * ratio
    return x.cos()


def graphmend_entry():
    return old, (torch.ones(2), 0.5)
