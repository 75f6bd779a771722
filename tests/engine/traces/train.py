"""The program of which the excerpts beside it are traces; each break says how it is marked."""

import torch
from torch import nn


def helper(y):
    print("mean", y.shape)  # the whole line
    return y * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        if y.sum() > 0:  # a condition
            y = y + 1
        if (
            y.mean().isnan()  # over lines
        ):
            y = y * 0
        y = helper(y)
        for _ in range(2):
            if y.max() > 10:  # in a loop
                y = y - 1
        return y


@torch.compile(fullgraph=True, backend="eager")
def strict(x):
    print("é", x)  # fullgraph
    return x + 1


@torch.compile(backend="eager")
def scaled(x, n):
    return "é" and x + n.item()  # an expression


@torch.compile(backend="eager", dynamic=False)
def again(x):
    return x * 2


if __name__ == "__main__":
    torch.compile(Net(), backend="eager")(torch.ones(2, 4))
    try:
        strict(torch.ones(3))
    except Exception as error:
        print(type(error))
    for size in range(1, 12):
        scaled(torch.ones(size), torch.tensor(1.0))
        again(torch.ones(size))
