import contextlib

import torch
from torch import nn


class Safe(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def check(self, x):
        if x.min() < 0:
            raise ValueError("negative")
        return x.sqrt()

    def forward(self, x):
        out = x
        with contextlib.suppress(ValueError):
            out = self.check(x)
        return self.lin(out)


def graphmend_entry():
    torch.manual_seed(0)
    return Safe(), (torch.rand(2, 3),)
