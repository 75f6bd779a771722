import torch


def filled(x):
    out = torch.zeros_like(x)
    for at in range(x.shape[0]):
        out[at] = x[at] * 2
        if x[at] > 100:
            break
    return out


def graphmend_entry():
    return filled, [(torch.arange(1.0, 5.0),), (torch.tensor([300.0, 1.0, 2.0]),)]
