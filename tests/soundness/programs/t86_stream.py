import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, out=sys.stderr):
        super().__init__()
        self.out = out

    def forward(self, x):
        print("sum", x.sum().item(), file=self.out)
        y = x.exp()
        self.out.write("done\n")
        return y


def graphmend_entry():
    return Net(), (torch.ones(2),)
