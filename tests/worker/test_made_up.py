"""Inputs made up for modules and functions: found where they can be, and said where they cannot. Over the real worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worker.worker_pipes import Worker, analyse_params

HEAD = """import torch
from torch import nn
from dataclasses import dataclass
"""

# name -> (source, entry, kind)
MADE = {
    "linear": ("def __init__(self, in_dim, hidden=64): L(in_dim, hidden)", "def forward(self, x): return self.l(x)"),
    "convolution": (
        "def __init__(self, in_channels: int, n_classes: int): self.l = nn.Conv2d(in_channels, n_classes, 3)",
        "def forward(self, image: torch.Tensor): return self.l(image)",
    ),
    "embedding": ("def __init__(self, vocab_size, dim): self.l = nn.Embedding(vocab_size, dim)", "def forward(self, ids): return self.l(ids)"),
    "recurrent": (
        "def __init__(self, dim): self.l = nn.GRUCell(dim, dim)",
        "def forward(self, x): return self.l(x) * 2",
    ),
    "rank from unpacking": (
        "def __init__(self, dim: int, heads: int = 8): L(dim, dim); self.h = heads",
        "def forward(self, x):\n        b, n, c = x.shape\n        return self.l(x).reshape(b, n, self.h, c // self.h)",
    ),
    "attention": (
        "def __init__(self, embed_dim, num_heads): self.l = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)",
        "def forward(self, query, key): return self.l(query, key, key)[0]",
    ),
    "two layers with another width": (
        "def __init__(self): L(12, 8); self.m = nn.Linear(20, 8)",
        "def forward(self, left, right):\n        y = right * 1\n        return self.l(left) + self.m(y)",
    ),
    "jaxtyping as written": (
        "def __init__(self): L(6, 6)",
        "def forward(self, x: 'Float[Tensor, \"b t 6\"]', i: 'Int[Tensor, \"b\"]'):\n        assert x.ndim == 3 and i.shape == x.shape[:1]\n        return self.l(x)[i]",
    ),
    "dictionary": (
        "def __init__(self): L(6, 6)",
        "def forward(self, batch): return self.l(batch['features']) + batch['bias'].mean()",
    ),
    "list": (
        "def __init__(self): L(6, 6)",
        "def forward(self, xs: list[torch.Tensor]): return sum(self.l(x) for x in xs)",
    ),
    "numbers and flags": (
        "def __init__(self): L(8, 8)",
        "def forward(self, x, steps: int, scale: float, causal: bool, mask=None):\n        assert steps > 0 and mask is None\n        return self.l(x) * scale",
    ),
    "configuration object": (
        "def __init__(self, config): L(config.hidden_size, config.num_labels)",
        "def forward(self, x): return self.l(x)",
    ),
}  # fmt: skip


def module(init: str, forward: str) -> str:
    lines = init.replace("L(", "self.l = nn.Linear(").split(": ")
    head, body = ": ".join(lines[:-1]), lines[-1]
    return f"{HEAD}class Made(nn.Module):\n    {head}:\n        super().__init__()\n        {body}\n    {forward}\n"


def run(worker: Worker, folder: Path, source: str, function: str = "Made", kind: str = "module", **how: Any) -> Any:
    return worker.analyse(folder / "model.py", function, text=source, kind=kind, **how)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.slow
def test_modules(worker: Worker, tmp_path: Path, name: str) -> None:
    result = run(worker, tmp_path, module(*MADE[name]))
    assert result["failure"] is None
    assert result["calls"] == 1
    assert len(result["graphs"]) >= 1


def test_a_dataclass_of_large_defaults_is_made_small(worker: Worker, tmp_path: Path) -> None:
    source = HEAD + (
        "@dataclass\nclass GPTConfig:\n    vocab_size: int = 50304\n    n_layer: int = 12\n    n_head: int = 12\n    n_embd: int = 768\n"
        "class GPT(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
        "        self.wte = nn.Embedding(config.vocab_size, config.n_embd)\n"
        "    def forward(self, idx, targets=None):\n        print('here')\n        x = self.wte(idx)\n"
        "        assert x.shape[-1] < 768 and self.wte.num_embeddings < 50304\n        return x\n"
    )
    result = run(worker, tmp_path, source, "GPT")
    assert result["failure"] is None
    assert [event["root"]["gb_id"] for event in result["events"]] == ["GB0059"]


COMPILED = {
    "function": ("@torch.compile\ndef f(x, y):\n    print(x)\n    return x @ y\n", "f"),
    "assigned": ("def g(x):\n    print(x)\n    return x * 2\nf = torch.compile(g, fullgraph=True)\n", "f"),
    "module": (
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(3, 3)\n"
        "    def forward(self, x):\n        print(x)\n        return self.l(x)\nf = torch.compile(A())\n",
        "f",
    ),
    "method": (
        "class A(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n        self.l = nn.Linear(dim, 3)\n"
        "    @torch.compile\n    def step(self, x):\n        print(x)\n        return self.l(x)\n",
        "A.step",
    ),
}


@pytest.mark.parametrize("name", COMPILED)
def test_what_the_file_compiles(worker: Worker, tmp_path: Path, name: str) -> None:
    source, function = COMPILED[name]
    result = run(worker, tmp_path, HEAD + source, function, "compiled")
    assert result["failure"] is None
    assert "GB0059" in [event["root"]["gb_id"] for event in result["events"]]


REFUSED = {
    "no such name": ("x = 1\n", "Made", "bad-entry", "nothing to call"),
    "no module": ("class Made:\n    pass\n", "Made", "no-inputs", "no nn.Module"),
    "unknown argument": (
        "class Made(nn.Module):\n    def __init__(self, zorp):\n        super().__init__()\n    def forward(self, x):\n        return x\n",
        "Made", "no-inputs", "zorp",
    ),
    "raises whatever it gets": (
        "class Made(nn.Module):\n    def forward(self, x):\n        raise RuntimeError('never')\n", "Made", "no-inputs", "never",
    ),
    "ends the process": (
        "import os\nclass Made(nn.Module):\n    def forward(self, x):\n        os._exit(3)\n", "Made", "no-inputs", "model.py:Made",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_made_up_says_why(worker: Worker, tmp_path: Path, name: str) -> None:
    source, function, kind, words = REFUSED[name]
    failure = run(worker, tmp_path, HEAD + source, function)["failure"]
    assert failure["kind"] == kind
    assert words in failure["message"]
    assert "graphmend_entry" in failure["remedy"]


def test_the_tries_leave_nothing_behind(worker: Worker, tmp_path: Path) -> None:
    """The first call that is analysed is the first that the program sees."""
    source = HEAD + (
        "calls = []\nclass Made(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(3, 3)\n"
        "    def forward(self, x):\n        b, t, c = x.shape\n        if not calls:\n            print('first')\n        calls.append(1)\n        return self.l(x)\n"
    )
    result = run(worker, tmp_path, source)
    assert result["failure"] is None
    assert "GB0059" in [event["root"]["gb_id"] for event in result["events"]]


def test_a_fake_run_has_the_same_inputs(worker: Worker, tmp_path: Path) -> None:
    source = module(
        MADE["linear"][0],
        "def forward(self, x):\n        if x.sum() > 0:\n            x = x + 1\n        return self.l(x)",
    )
    params = analyse_params(tmp_path / "model.py", "Made", text=source, kind="module")
    result = worker.result(worker.send("analyse", {**params, "run": "fake"}))
    assert result["failure"] is None
    assert result["events"]
