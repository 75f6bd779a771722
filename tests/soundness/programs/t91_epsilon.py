import torch


def safe_div(a, b):
    eps = 1e-8 if b.abs().min() == 0 else 0.0
    return a / (b + eps)


def graphmend_entry():
    return safe_div, [(torch.ones(3), torch.ones(3)), (torch.ones(3), torch.zeros(3))]
