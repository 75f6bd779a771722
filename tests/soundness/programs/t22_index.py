import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(6, 4)
        self.lin = nn.Linear(4, 4)

    def forward(self, ids):
        for turn in range(2):
            print("turn", turn)
            h = self.emb(ids + turn)
            h = self.lin(h)
        return h


def graphmend_entry():
    return Net(), (torch.randint(0, 4, (3,)),)
