"""Which methods make a name a tensor: not those that dicts, lists, queues and images have too."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.syntax.source import Source, read


@pytest.mark.parametrize(
    ("call", "kind", "owner"),
    [
        ("d.values()", "unknown", "unknown"), ("d.index(3)", "unknown", "unknown"), ("d.put(3)", "unknown", "unknown"),
        ("d.resize(3)", "unknown", "unknown"), ("d.numpy()", "unknown", "unknown"), ("d.solve(1)", "unknown", "unknown"),
        ("d.is_shared()", "python", "tensor"), ("d.data_ptr()", "python", "tensor"), ("d.item()", "tensor", "tensor"),
        ("d.relu()", "tensor", "tensor"),
    ],
)  # fmt: skip
def test_kind_of_a_call_and_of_its_owner(call: str, kind: str, owner: str) -> None:
    source = read("model.py", f"def f(d):\n    z = {call}\n    return d\n")
    assert isinstance(source, Source)
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assign, returned = function.body
    assert isinstance(assign, ast.Assign) and isinstance(returned, ast.Return) and returned.value is not None
    assert Kinds(source).of(assign.value) == kind
    assert Kinds(source).of(returned.value) == owner
