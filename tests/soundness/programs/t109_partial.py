import torch


def shifted(x, shift=None):
    if shift is None:
        shift = torch.tensor(1)
    return x.roll(shift.item())


def outer(x, shift):
    return shifted(x, shift) + shifted(x)


def graphmend_entry():
    return outer, (torch.arange(4.0), torch.tensor(2))
