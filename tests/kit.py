"""A package `kit` with a break, and a program that uses it: what overlays are for."""

from __future__ import annotations

from pathlib import Path

MODEL = """import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x + 1
"""
MAIN = '''"""Uses the kit."""
import torch
from kit.model import Gate


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x):
        return self.gate(x)


def graphmend_entry():
    return Net(), (torch.randn(4),)
'''


def install(folder: Path, model: str = MODEL) -> None:
    """Put the package into ``site-packages`` of a folder; `model` is the text of its module."""
    kit = folder / "site-packages" / "kit"
    kit.mkdir(parents=True)
    (kit / "__init__.py").touch()
    (kit / "model.py").write_text(model)
