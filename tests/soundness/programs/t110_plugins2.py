import torch
from torch import nn


class Net(nn.Module):
    label = "plugin"

    def forward(self, x):
        y = x.exp()
        if y.isinf().any():
            raise OverflowError(f"{self.label}: too large")
        return y


def graphmend_entry():
    return Net(), (torch.ones(2),)
