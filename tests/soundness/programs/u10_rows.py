import torch


def weighted(values, count):
    total = count.sum().item()
    rows = [value * total for value in values]
    return torch.stack(rows)


def graphmend_entry():
    return weighted, ([torch.randn(3), torch.randn(3)], torch.tensor([1, 2]))
