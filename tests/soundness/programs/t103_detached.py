import torch


def straight(x, hard):
    if hard.item() > 0.5:
        return (x > 0).float() - x.detach() + x
    return x.sigmoid()


def graphmend_entry():
    return straight, [(torch.randn(3), torch.tensor(1.0)), (torch.randn(3), torch.tensor(0.0))]
