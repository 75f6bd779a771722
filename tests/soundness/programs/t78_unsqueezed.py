import torch


def lifted(x):
    if x.max() > 0:
        y = x.unsqueeze(0)
    else:
        y = x.view(1, -1)
    return y.sum(0)


def graphmend_entry():
    return lifted, [(torch.ones(4),), (-torch.ones(4),)]
