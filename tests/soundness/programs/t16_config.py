import torch
from torch import nn

config = {"mode": "plain", "calls": 0}


class Net(nn.Module):
    def __init__(self, counts=False):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.counts = counts

    def note(self):
        if self.counts:
            config["calls"] += 1

    def forward(self, x):
        h = self.lin(x)
        print("config", config)
        self.note()
        return h.tanh()


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
