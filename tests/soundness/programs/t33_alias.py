import torch


def pick(x, y):
    best = x if x.sum() > y.sum() else y
    return best


def graphmend_entry():
    return pick, [(torch.ones(3), torch.zeros(3)), (torch.zeros(3), torch.ones(3))]
