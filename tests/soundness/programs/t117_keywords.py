import torch


def select(x, *, which="max", strict=False):
    value = getattr(x, which)().item()
    if strict and value > 10:
        raise ValueError("too large")
    return x / max(value, 1.0)


def graphmend_entry():
    return select, (torch.tensor([1.0, 4.0]),)
