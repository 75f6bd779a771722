import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.near = nn.Linear(4, 4)
        self.far = nn.Linear(4, 4)

    def forward(self, x):
        if x.norm() > 2:
            return self.far(x)
        return self.near(x)


def graphmend_entry():
    return Net().eval().requires_grad_(False), [(torch.randn(2, 4) * 9,), (torch.randn(2, 4) * 0.01,)]
