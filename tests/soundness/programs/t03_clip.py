import torch


def clip(x, weight):
    limit = weight.abs().max().item() * 2
    return x.clamp(-limit, limit) * limit


def graphmend_entry():
    return clip, (torch.randn(4), torch.randn(3))
