"""What else may hold a tensor: whether a name is the only one, asked of the table of operators."""

import ast

import pytest

from graphmend_lsp.mending.facts.bindings import is_fresh
from graphmend_lsp.mending.syntax.source import Source, read

PROGRAM = (
    "import torch\n\n\ndef f(x):\n    y = {made}\n    {use}\n    if x.sum() > 0:\n        y.add_(1)\n    return y\n"
)


def fresh(use: str, made: str = "x + 1") -> bool:
    source = read("m.py", PROGRAM.format(use=use, made=made))
    assert isinstance(source, Source)
    branch = next(node for node in ast.walk(source.tree) if isinstance(node, ast.If))
    return is_fresh(source, "y", branch)


ALIASES = (
    "y.unfold(0, 2, 1)", "y.ravel()", "y.contiguous()", "y.float()", "y.to(x)", "y.moveaxis(0, 1)", "y.conj()",
    "y.unflatten(0, (2, 2))", "y.tensor_split(2)", "torch.ravel(y)", "y.mul_(2)", "y.numpy()", "y.T", "+y", "known(y)",
    "torch.atleast_1d(y)", "y.frobnicate()", "torch.nn.functional.relu(y, inplace=True)", "y if x else x", "y[0]",
)  # fmt: skip


@pytest.mark.parametrize("value", ALIASES)
def test_is_not_alone_where_something_may_hold_it(value: str) -> None:
    assert not fresh(f"z = {value}")


@pytest.mark.parametrize("value", ["y * 2", "y.float().sum()", "torch.relu(y)", "y.shape", "len(y)", "y.ravel() + 1"])
def test_is_alone_where_what_is_made_of_it_is_new(value: str) -> None:
    assert fresh(f"z = {value}")


@pytest.mark.parametrize("made", ["x.float()", "self.relu(x)", "torch.nn.functional.relu(x, inplace=True)", "g(x)"])
def test_is_not_new(made: str) -> None:
    assert not fresh("pass", made)
