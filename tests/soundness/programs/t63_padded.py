import torch


def lengths(x, counts):
    rows = []
    for i in range(x.shape[0]):
        rows.append(x[i, : counts[i].item()].sum())
    return torch.stack(rows)


def graphmend_entry():
    return lengths, (torch.randn(3, 6), torch.tensor([2, 6, 1]))
