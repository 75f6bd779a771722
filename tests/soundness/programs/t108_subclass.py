import torch
from torch import nn


class Base(nn.Module):
    def scale(self, x):
        return x * 2

    def forward(self, x):
        y = self.scale(x)
        print("scaled", y.shape[0])
        return y + 1


def graphmend_entry():
    return Base(), (torch.ones(2),)
