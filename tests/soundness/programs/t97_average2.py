import torch


def centred(ids):
    mid = (ids.max().item() + ids.min().item()) // 2
    return ids - mid


def graphmend_entry():
    return centred, (torch.tensor([1, 5, 9]),)
