import torch


def doubled(x, flag):
    factor = 2.0 if flag.item() > 0 else 0.5
    return (x + x) * factor


def graphmend_entry():
    return doubled, [(torch.rand(4), torch.tensor(1)), (torch.rand(4), torch.tensor(-1))]
