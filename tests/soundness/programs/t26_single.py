import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.calls = []

    def forward(self, x, weight):
        print(f"weight {weight.item():.2f}")
        self.calls.append(1)
        return self.lin(x) * weight


def graphmend_entry():
    return Net(), (torch.randn(2, 4), torch.tensor(0.5))
