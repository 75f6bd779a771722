import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    @property
    def warm(self):
        return self.count.item() < 2

    def forward(self, x):
        self.count += 1
        return x * 0.1 if self.warm else x


def graphmend_entry():
    return Net(), [(torch.ones(2),), (torch.ones(2),), (torch.ones(2),)]
