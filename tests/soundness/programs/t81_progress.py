import torch
from torch import nn


class Loop(nn.Module):
    def __init__(self, report=print):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.report = report

    def forward(self, x):
        for step in range(3):
            x = self.lin(x).tanh()
            self.report(f"step {step}")
        return x


def graphmend_entry():
    torch.manual_seed(0)
    return Loop(), (torch.randn(2, 3),)
