import torch
from torch import nn


class Noisy(nn.Module):
    def forward(self, x):
        noise = torch.rand_like(x)
        if x.sum() < 0:
            raise ValueError("negative")
        return x + noise + torch.rand(())


def graphmend_entry():
    return Noisy(), (torch.rand(3),)
