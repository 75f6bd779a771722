"""Gradients taken inside the model: `t.backward()` (GB0123) and `torch.autograd.grad` (GB9186)."""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "call"


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that runs a backward pass."""
    assert isinstance(node, ast.Call)
    if view.dotted(node.func) == "torch.autograd.grad":
        return Hit(node, "GB9186", "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`")
    if isinstance(node.func, ast.Attribute) and node.func.attr == "backward" and is_tensor(view.kind(node.func.value)):
        return Hit(node, "GB0123", "Unsupported Tensor.backward() call")
    return None
