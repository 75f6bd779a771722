import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.lin = nn.Linear(4, 4)

    def remember(self, h):
        if h.shape[0] > 4:
            self.seen.append(h.shape[0])

    def forward(self, x):
        h = self.lin(x)
        print("seen", self.seen)
        self.remember(h)
        return h.relu()


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
