import torch
from torch import nn


class Inner(nn.Module):
    def forward(self, x, lengths):
        n = int(lengths.max())
        h = x[:, :n]
        for _ in range(n):
            h = h * 0.5
        return h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x, lengths):
        h = x.relu()
        return self.inner(h, lengths)


def graphmend_entry():
    return Net(), [(torch.randn(2, 4), torch.tensor([1, 2])), (torch.randn(2, 4), torch.tensor([3, 2]))]
