import torch


def halved(x, keep):
    out = x.abs()
    for _ in range(int(keep.sum())):
        out = out / 2
    return out


def graphmend_entry():
    return halved, [(torch.randn(4), torch.tensor([True, False])), (torch.randn(4), torch.tensor([True, True]))]
