import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, callback=None):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.callback = callback

    def forward(self, x):
        h = self.lin(x)
        print("before the callback")
        if self.callback is not None:
            self.callback(h)
        return h.relu()


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
