import torch


def pooled(x, keep):
    chosen = [row for row, flag in zip(x, keep) if flag]
    return torch.stack(chosen).mean(0) if chosen else x.mean(0)


def graphmend_entry():
    return pooled, (torch.randn(4, 3), torch.tensor([True, False, True, True]))
