import warnings

import torch
from torch import nn


WARNED = False


class Net(nn.Module):
    def forward(self, x):
        global WARNED
        if x.max() > 3 and not WARNED:
            warnings.warn("large input")
            WARNED = True
        return x.tanh()


def graphmend_entry():
    return Net(), (torch.ones(2) * 5,)
