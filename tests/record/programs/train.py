"""Everything that asks torch.compile for something, in one program: see test_record.py for what it meets where."""

import multiprocessing
import os
import subprocess
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        if y.sum() > 0:  # torch.compile(module)
            return y + 1
        return y


class Own(nn.Module):
    def forward(self, x):
        print("own", x.shape)  # module.compile()
        return x * 2


@torch.compile(backend="eager")
def decorated(x):
    y = x.sin()
    n = y.sum().item()  # a decorator
    return y * n


@torch.compile(backend="eager", fullgraph=True)
def strict(x):
    print("strict")  # fullgraph=True
    return x + 1


def helper(x):
    return x.tolist()  # reached in a child only


@torch.compile(backend="eager")
def in_child(x):
    return x + helper(x)[0]


class Numbers:
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return in_child(torch.full((3,), float(number)))


def forked():
    in_child(torch.ones(2))


if __name__ == "__main__":
    torch.compile(Net(), backend="eager")(torch.ones(2, 4))
    own = Own()
    own.compile(backend="eager")
    own(torch.ones(3))
    decorated(torch.ones(5))
    try:
        strict(torch.ones(2))
    except Exception as error:
        print("caught", type(error).__name__)
    list(DataLoader(Numbers(), num_workers=1, multiprocessing_context="fork"))
    child = multiprocessing.get_context("fork").Process(target=forked)
    child.start()
    child.join()
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, "-m", "package"], cwd=here, check=True)
    print("path", sys.path[0] == here, "customized", os.environ.get("CUSTOMIZED"), "in", os.getcwd())
    print("to stderr", file=sys.stderr)
    sys.exit(7)
