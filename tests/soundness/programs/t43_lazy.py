import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = None

    def build(self, x):
        if self.mask is None:
            self.mask = torch.arange(x.shape[-1], dtype=torch.float32)
        return self.mask[: x.shape[-1]]

    def forward(self, x, causal):
        if causal.any():
            x = x + self.build(x)
        return x.tanh()


def graphmend_entry():
    return Net(), [(torch.randn(2, 4), torch.tensor(True)), (torch.randn(2, 4), torch.tensor(False))]
