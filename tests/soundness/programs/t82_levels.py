import logging

import torch
from torch import nn


log = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        log.debug("norm %.2f", x.norm().item())
        return self.lin(x)


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), (torch.randn(2, 3),)
