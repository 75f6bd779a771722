import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)
        self.register_buffer("decay", torch.tensor(0.5))

    def forward(self, x):
        h = self.lin(x)
        return h / (1 + self.decay.item())


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
