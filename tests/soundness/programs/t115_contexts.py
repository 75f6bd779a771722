import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            scale = 2.0 if x.norm() > 1 else 1.0
            print("scale", scale)
        return self.lin(x) * scale


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.ones(1, 3) * 4,), (torch.zeros(1, 3),)]
