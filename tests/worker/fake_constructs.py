"""Constructs whose fake run must find what their real run finds: data for `test_fake`.

Each is the body of a function `f(x)` with ``x = torch.arange(1.0, 5.0)``; ``m:`` of a module's `forward(self, x)`;
``e:`` of an entry itself, which returns (callable, args).
"""

from __future__ import annotations

HEAD = """\
import contextlib, copy, io, logging, math, random, sys, time, warnings
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
log = logging.getLogger("constructs")
SEEN = []
MODULE = nn.Linear(4, 4)

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
        self.head.weight = self.words.weight
    def forward(self, t):
        h = self.words(t)
        if h.sum() > 1e9:
            h = h * 2
        return self.head(h)
"""

CASES = {
    "no break": "return x.sin() + 1",
    "print": "y = x.sin()\nprint(y)\nreturn y + 1",
    "print a number": "print(f'{x.sum().item():.2f} {x.sum():.3f}')\nreturn x + 1",
    "log": "log.info('y %s', x.shape)\nreturn x + 1",
    "warn": "warnings.warn('careful')\nreturn x + 1",
    "clock": "t = time.perf_counter()\nreturn x + (time.perf_counter() - t)",
    "branch": "if x.sum() > 0:\n    x = x * 2\nreturn x + 1",
    "branch on a number": "if x.sum():\n    x = x * 2\nreturn x + 1",
    "else": "if x.sum() > 0:\n    x = x * 2\nelse:\n    x = x * 3\nreturn x + 1",
    "elif": "if x.sum() > 100:\n    x = x * 2\nelif x.sum() > 5:\n    x = x * 3\nreturn x + 1",
    "not": "if not (x > 0).all():\n    x = x * 2\nreturn x + 1",
    "and": "if x.sum() > 0 and x.max() < 10:\n    x = x * 2\nreturn x + 1",
    "ternary": "return x + (1 if x.sum() > 0 else 2)",
    "guard": "if torch.isnan(x).any():\n    raise ValueError('nan')\nreturn x + 1",
    "check": "if x.min().item() < 0:\n    raise ValueError('negative')\nreturn x + 1",
    "assert": "assert (x > 0).all(), f'{x.shape}'\nreturn x + 1",
    "while": "while x.sum() < 100:\n    x = x * 2\nreturn x",
    "break out": "for _ in range(100):\n    x = x * 2\n    if x.sum() > 100:\n        break\nreturn x",
    "count down": "n = x.sum()\nwhile n.item() > 0:\n    n = n - 1\nreturn x + n",
    "item": "return x * x.sum().item()",
    "float": "return x * float(x.sum())",
    "math": "return x * math.sqrt(x.sum())",
    "range": "for i in range(int(x[0])):\n    x = x + i\nreturn x",
    "list": "return x + sum(x.tolist())",
    "known list": "return torch.split(x, torch.tensor([1, 3]).tolist())[1] + 1",
    "array": "return x + torch.from_numpy(np.asarray(x.numpy()) * 2)",
    "array to number": "return x + float(x.numpy().mean())",
    "nonzero": "return torch.nonzero(x).float() + 1",
    "mask": "return x[x > 2] + 1",
    "mask assigned": "y = x.clone()\nm = y > 2\ny[m] = y[m] * 2\nreturn y + 1",
    "whole mask": "y = x.reshape(2, 2)\nreturn y[y > 0].view(2, -1) + 1",
    "unique": "return torch.unique(x) + 1",
    "bincount": "return torch.bincount(x.long()) + 1",
    "repeat": "return torch.repeat_interleave(x, x.long()) + 1",
    "where": "return x[torch.where(x > 2)] + 1",
    "index": "return x[x.argmax()] + 1",
    "equal": "if torch.equal(x, x + 1):\n    return x\nreturn x + 1",
    "close": "if torch.allclose(x, x + 1):\n    return x\nreturn x + 1",
    "text": "s = str(x.sum())\nreturn x + 1",
    "copy": "y = copy.deepcopy(x)\nreturn y + 1",
    "save": "b = io.BytesIO()\ntorch.save(x, b)\nreturn x + 1",
    "seed": "torch.manual_seed(0)\nreturn x + torch.rand(4)",
    "random": "return x + random.random()",
    "kind of tensor": "print('between')\nreturn x * 2 if type(x) is torch.Tensor else x",
    "kept outside": "SEEN.append(x.sum().item())\nreturn x + 1",
    "made on import": "y = MODULE(x)\nif y.sum() > 1e9:\n    y = y * 2\nreturn y",
    "in place": "x.mul_(2)\nprint('between')\nx.add_(1)\nreturn x + 1",
    "gradient": "y = x.clone().requires_grad_()\n(y * 2).sum().backward()\nreturn y.grad",
    "m: print": "y = self.layer(x)\nprint(y.shape)\nreturn y.relu()",
    "m: buffer": "if self.flag == 0:\n    x = x + 1\nreturn x",
    "m: counter": "self.count = getattr(self, 'count', 0) + 1\nreturn x + self.count",
    "m: parameter": "return x + nn.Parameter(torch.ones(4))",
    "m: experts": (
        "out = torch.zeros_like(x[None])\nchosen = F.one_hot(self.layer(x)[None].argmax(-1), 4).T\n"
        "for k in range(2):\n    rows = torch.where(chosen[k])[0]\n    out.index_add_(0, rows, x[None][rows])\nreturn out"
    ),
    "e: half": "m = Tied().half().double().float()\nassert m.head.weight is m.words.weight\nreturn m, (torch.tensor([[1, 2]]),)",
    "e: loaded": (
        "b = io.BytesIO()\ntorch.save(Tied().state_dict(), b)\nb.seek(0)\nm = Tied()\nm.load_state_dict(torch.load(b))\n"
        "m = copy.deepcopy(m)\nassert m.head.weight is m.words.weight\nreturn m, (torch.randint(0, 10, (2, 3)),)"
    ),
    "e: from meta": "with torch.device('meta'):\n    m = nn.Linear(4, 4)\nreturn m.to_empty(device='cpu'), (torch.ones(4),)",
    "e: optimizer": (
        "m = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))\no = torch.optim.AdamW(m.parameters())\n"
        "def step(x):\n    o.zero_grad()\n    loss = m(x).pow(2).mean()\n    loss.backward()\n"
        "    nn.utils.clip_grad_norm_(m.parameters(), 1.0)\n    o.step()\n    return loss.item()\nreturn step, (torch.ones(2, 4),)"
    ),
    "e: keywords": "def f(x, scale=None):\n    return x * scale['by'][0]\nreturn f, {'x': torch.ones(4), 'scale': {'by': [torch.ones(4)]}}",
    "e: calls": "def f(x):\n    print(x)\n    return x + 1\nreturn f, [torch.ones(4), torch.ones(5)]",
}  # fmt: skip


def source() -> str:
    """One file with an entry for each construct: ``entry_NUMBER``."""
    parts = [HEAD]
    for number, (name, body) in enumerate(CASES.items()):
        lines = body.splitlines()
        arguments = "(torch.arange(1.0, 5.0),)"
        if name.startswith("e: "):
            parts.append("\n".join([f"def entry_{number}():", *(f"    {line}" for line in lines)]))
        elif name.startswith("m: "):
            parts += [
                f"class M{number}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.layer = nn.Linear(4, 4)\n        self.register_buffer('flag', torch.tensor(0))\n"
                "    def forward(self, x):\n" + "\n".join(f"        {line}" for line in lines),
                f"def entry_{number}(): return M{number}(), {arguments}",
            ]
        else:
            parts += [
                "\n".join([f"def f{number}(x):", *(f"    {line}" for line in lines)]),
                f"def entry_{number}(): return f{number}, {arguments}",
            ]
    return "\n\n".join(parts) + "\n"
