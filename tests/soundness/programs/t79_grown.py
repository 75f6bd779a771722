import torch
from torch import nn


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = []

    def forward(self, x, reset):
        if reset.item():
            self.keys.clear()
        self.keys.append(x)
        return torch.cat(self.keys)


def graphmend_entry():
    return Cache(), [(torch.randn(1, 3), torch.tensor(True)), (torch.randn(1, 3), torch.tensor(False))]
