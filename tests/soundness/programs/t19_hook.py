import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        print("begin")
        h = self.a(x)
        return self.b(h).relu()


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
