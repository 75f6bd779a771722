import torch


def maybe(x, flag):
    if flag.any():
        x = x + 1
    return x


def graphmend_entry():
    return maybe, [(torch.zeros(2), torch.tensor(True)), (torch.zeros(2), torch.tensor(False))]
