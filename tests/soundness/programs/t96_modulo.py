import torch


def phase(x, step, period: int = 4):
    if step.item() % period == 0:
        return x * 2
    return x


def graphmend_entry():
    return phase, [(torch.randn(3), torch.tensor(4)), (torch.randn(3), torch.tensor(5))]
