import warnings

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def checked(self, x):
        h = self.lin(x)
        if h.abs().max() > 1000:
            warnings.warn("large")
        return h

    def forward(self, x, strict=False):
        if strict:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                h = self.checked(x)
        else:
            h = self.checked(x)
        return h + 1


def graphmend_entry():
    return Net(), [(torch.randn(2, 4),), (torch.randn(2, 4) * 1e5,)]
