"""What of a file is run without an entry, and what is left alone."""

from __future__ import annotations

import pytest

from graphmend_lsp.analysis.entry_guesses import guess_entries
from graphmend_lsp.analysis.entry_models import pick

HEAD = "import torch\nfrom torch import nn\n"
MODULE = "class {0}(nn.Module):\n    def forward(self, x):\n        return {1}\n"
MODEL = "class {0}({1}):\n    def __init__(self, config):\n        pass\n    def forward(self, x):\n        return x\n"

FOUND = {
    "decorator": ("@torch.compile\ndef f(x): return x\n", ["f compiled"]),
    "decorator with options": ("@torch.compile(mode='max-autotune')\ndef f(x): return x\n", ["f compiled"]),
    "imported": ("from torch import compile as c\n@c\ndef f(x): return x\n", ["f compiled"]),
    "alias": ("fast = torch.compile\n@fast\ndef f(x): return x\n", ["f compiled"]),
    "partial": (
        "from functools import partial\nfast = partial(torch.compile, dynamic=True)\n@fast\ndef f(x): return x\n",
        ["f compiled"],
    ),
    "partial as decorator": (
        "import functools\n@functools.partial(torch.compile, dynamic=True)\ndef f(x): return x\n",
        ["f compiled"],
    ),
    "waiting decorator": ("fast = torch.compile(dynamic=True)\n@fast\ndef f(x): return x\n", ["f compiled"]),
    "call": ("def f(x): return x\ng = torch.compile(f)\n", ["g compiled"]),
    "model.compile()": (MODULE.format("A", "x") + "model = A()\nmodel.compile()\n", ["model compiled"]),
    "method": ("class A:\n    @torch.compile\n    def step(self, x): return x\n", ["A.step compiled"]),
    "compiled forward": ("class A(nn.Module):\n    @torch.compile\n    def forward(self, x): return x\n", ["A module"]),
    "compiled part": (
        "class A(nn.Module):\n    def __init__(self):\n        self.l = torch.compile(nn.Linear(1, 1))\n    def forward(self, x): return x\n",
        ["A module"],
    ),
    "under a condition": ("if torch.cuda.is_available():\n    g = torch.compile(abs)\n", ["g compiled"]),
    "module": (MODULE.format("A", "x"), ["A module"]),
    "outermost module": (MODULE.format("A", "x") + MODULE.format("B", "A()(x)"), ["B module"]),
    "derived module": (MODULE.format("A", "x") + MODULE.format("B", "x").replace("nn.Module", "A"), ["B module"]),
    "compiled comes before modules": (MODULE.format("A", "x") + "@torch.compile\ndef f(x): return x\n", ["f compiled"]),
    "transformers": (MODEL.format("FooModel", "FooPreTrainedModel"), ["FooModel transformers"]),
    "guarded script": (
        MODULE.format("A", "x") + "if __name__ == '__main__':\n    main()\n    g = torch.compile(A())\n",
        ["A module"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    source, expected = FOUND[name]
    assert [f"{entry.function} {entry.kind}" for entry in guess_entries(HEAD + source, "a.py")] == expected


NET = MODULE.format("A", "x")
NOTEBOOKS = {
    "compiled and called": (NET + "m = torch.compile(A())\ny = m(x)\nmain()\n", ["m called"]),
    "decorated and called": ("@torch.compile\ndef f(x): return x\nf(torch.ones(3))\n", ["f called"]),
    "called in a training loop": (
        NET + "m = A()\nm.compile()\nfor x in data:\n    m(x).backward()\n",
        ["m called"],
    ),
    "a module that is called": (NET + "m = A().eval()\nn = A()\nn.train()\nprint(n(x))\n", ["n called"]),
    "a trainer before the call": (NET + "m = torch.compile(A())\ntrainer = T(m)\ntrainer.train()\nm(x)\n", []),
    "what is compiled comes first": (NET + "m = A()\nm(x)\nc = torch.compile(m)\nc(x)\n", ["c called"]),
    "compiled and not called": (NET + "m = torch.compile(A())\ndef g(x): return m(x)\n", ["m compiled"]),
    "work before the call": (NET + "m = torch.compile(A())\ntrain(m)\nm(x)\n", []),
    "magics as JupyterLab sends them": (
        "get_ipython().run_line_magic('m', '')\n" + NET + "m = torch.compile(A())\nm(x)\n",
        ["m called"],
    ),
    "a loop that saves": (NET + "m = torch.compile(A())\nfor x in data:\n    torch.save(m(x), 'f')\n", []),
    "a model and no call": (NET, ["A module"]),
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_the_cells_of_a_notebook_call(name: str) -> None:
    source, expected = NOTEBOOKS[name]
    assert [f"{entry.function} {entry.kind}" for entry in guess_entries(HEAD + source, "a.ipynb")] == expected


LEFT_ALONE = {
    "no torch": "def f(x): return x\n",
    "syntax": HEAD + "def f(:\n",
    "another compile": "import re\nimport torch\np = re.compile('x')\n",
    "script that calls main": HEAD + MODULE.format("A", "x") + "main()\n",
    "script that trains": HEAD + MODULE.format("A", "x") + "for x in data:\n    loss(x).backward()\n",
    "script that fits": HEAD + MODULE.format("A", "x") + "history = trainer.fit(A())\n",
    "local": HEAD + "def g():\n    @torch.compile\n    def f(x): return x\n",
    "coroutine": HEAD + "@torch.compile\nasync def f(x): return x\n",
    "function of autograd": HEAD + "class F(torch.autograd.Function):\n    def forward(ctx, x): return x\n",
    "nul": "import torch\0",
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    assert guess_entries(LEFT_ALONE[name], "a.py") == ()


PICKED = {
    "model and head": (
        [("BarModel", "BarPreTrainedModel"), ("BarForCausalLM", "BarPreTrainedModel"), ("BarForTokenClassification", "BarPreTrainedModel")],
        ["BarModel", "BarForCausalLM"],
    ),
    "whole before part": (
        [("BarTextModel", "BarPreTrainedModel"), ("BarModel", "BarPreTrainedModel")],
        ["BarModel", "BarTextModel"],
    ),
    "from elsewhere": ([("Mine", "LlamaForCausalLM")], ["Mine"]),
    "base of another kind": ([("BarModel", "PreTrainedAudioTokenizerBase")], ["BarModel"]),
    "base only": ([("BarPreTrainedModel", "PreTrainedModel")], []),
    "no model": ([("Bar", "object")], []),
}  # fmt: skip


@pytest.mark.parametrize("name", PICKED)
def test_models_worth_running(name: str) -> None:
    classes, expected = PICKED[name]
    head = "from transformers import LlamaForCausalLM, PreTrainedModel\n"
    assert pick(head + "".join(MODEL.format(*each) for each in classes)) == expected


def test_a_part_is_not_picked_before_what_it_is_part_of() -> None:
    part = MODEL.format("BarEncoder", "BarPreTrainedModel")
    whole = MODEL.format("BarReader", "BarPreTrainedModel").replace("pass", "self.e = BarEncoder(config)")
    assert pick(part + whole) == ["BarReader", "BarEncoder"]
    assert pick(part + whole, 1) == ["BarReader"]
