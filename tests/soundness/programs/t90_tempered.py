import torch
from torch import nn


class Softened(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, logits):
        temperature = 0.1 if logits.std() > 1 else 1.0
        return (logits * self.weight / temperature).softmax(-1), self.weight * temperature


def graphmend_entry():
    return Softened(), [(torch.randn(2, 5) * 4,), (torch.randn(2, 5) * 0.1,)]
