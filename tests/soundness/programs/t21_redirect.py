import contextlib
import io

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def said(self, x):
        h = self.lin(x)
        print("said", tuple(h.shape))
        return h.relu()

    def forward(self, x, quiet=False):
        if quiet:
            with contextlib.redirect_stdout(io.StringIO()):
                h = self.said(x)
        else:
            h = self.said(x)
        return h * 2


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
