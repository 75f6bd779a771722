import torch
from torch import nn


class Timer(nn.Module):
    def __init__(self):
        super().__init__()
        self.open = 0

    def forward(self, x, limit):
        self.open += 1
        try:
            if x.max() > limit:
                raise OverflowError("too large")
            return x / limit
        finally:
            self.open -= 1


def graphmend_entry():
    return Timer(), (torch.rand(3), torch.tensor(2.0))
