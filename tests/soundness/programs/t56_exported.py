import torch


def gate(x, weight):
    if weight.sum() > 0:
        return x * weight
    return x * 0.5


def graphmend_entry():
    return gate, [(torch.randn(3), torch.ones(3)), (torch.randn(3), -torch.ones(3))]
