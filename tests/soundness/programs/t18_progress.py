import io

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = io.StringIO()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        print("start", file=self.out)
        h = self.a(x)
        self.out.write("middle ")
        h = h.relu()
        print("end", file=self.out)
        return h * 2


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
