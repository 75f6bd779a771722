import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("open", torch.tensor(True))

    def forward(self, x):
        if self.open:
            x = self.lin(x)
        return x.relu()


def graphmend_entry():
    return Gate(), (torch.randn(2, 3),)
