from collections import deque

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.window = deque(maxlen=2)
        self.lin = nn.Linear(4, 4)

    def push(self, h):
        if h.shape[0] >= 10:
            self.window.append(h.shape[0])
        return h.relu()

    def forward(self, x):
        h = self.lin(x)
        print("window", list(self.window))
        h = self.push(h)
        return h * 3


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
