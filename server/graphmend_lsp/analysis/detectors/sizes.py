"""A tensor used as a size: `torch.zeros(t)`, `torch.arange(t)`, `linspace(0, 1, t)` (GB0033), `range(t)` (GB0059).

Does not break: sizes from shapes, a tensor as the value of `torch.full`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "call"

_FIRST = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "eye"})


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that needs a tensor's value for a size."""
    assert isinstance(node, ast.Call)
    name = view.dotted(node.func)
    namespace, _, last = name.rpartition(".")
    sizes: list[ast.expr] = []
    if namespace == "torch":
        if last in _FIRST:
            sizes = node.args[:1]
        elif last == "arange":
            sizes = node.args
        elif last == "linspace":
            sizes = node.args[2:3] + [each.value for each in node.keywords if each.arg == "steps"]
    elif name == "builtins.range":
        sizes = node.args
    if not any(is_tensor(view.kind(each)) for each in sizes):
        return None
    if namespace == "torch":
        return Hit(node, "GB0033", "Data dependent operator")
    return Hit(node, "GB0059", "Failed to trace builtin operator")
