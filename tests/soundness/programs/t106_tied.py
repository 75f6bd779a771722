import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, ids, soft):
        h = self.emb(ids)
        if soft.any():
            h = h.tanh()
        return self.out(h)


def graphmend_entry():
    torch.manual_seed(0)
    return Tied(), [(torch.tensor([1, 2]), torch.tensor(True)), (torch.tensor([1, 2]), torch.tensor(False))]
