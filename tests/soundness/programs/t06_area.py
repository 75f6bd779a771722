import torch


def area(x, size):
    return x / (size[0].item() * size[1].item())


def graphmend_entry():
    return area, (torch.randn(4), torch.tensor([4, 5], dtype=torch.int16))
