import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(x.shape[0])
        print("history", self.history)
        self.history.append(-1)
        return x.sin()


def graphmend_entry():
    return Net(), (torch.randn(2),)
