import torch


def weighted(loss, count):
    factor = 3 if count.item() > 10 else 1
    return loss * factor


def graphmend_entry():
    return weighted, [(torch.rand(4), torch.tensor(20)), (torch.rand(4), torch.tensor(2))]
