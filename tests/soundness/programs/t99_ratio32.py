import torch


def portion(done, total):
    return torch.full((2,), done.item() / total.item(), dtype=torch.float64)


def graphmend_entry():
    return portion, (torch.tensor(1.0), torch.tensor(3.0))
