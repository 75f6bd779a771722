import torch


def flat(x, turn):
    if turn.any():
        x = x.roll(1, 0)
    return x.view(-1)


def graphmend_entry():
    return flat, [(torch.randn(2, 3), torch.tensor([True])), (torch.randn(2, 3), torch.tensor([False]))]
