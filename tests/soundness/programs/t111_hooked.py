import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        if x.mean() > 0:
            return self.up(x)
        return self.down(x)


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.ones(1, 3),), (-torch.ones(1, 3),)]
