"""A tensor's value taken into Python: `.item()`, `float`, `int`, `bool` (GB0124), `.tolist()` (GB0109, GB0033).

Does not break: the same on shapes and sizes, `.cpu()`, `.data`, `data_ptr()`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import INTEGER, is_tensor

ON: On = "call"

_CASTS = frozenset({"builtins.float", "builtins.int", "builtins.bool", "builtins.complex"})


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that needs the number in a tensor."""
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        receiver = view.kind(node.func.value)
        if not is_tensor(receiver):
            return None
        if node.func.attr == "item":
            return Hit(node, "GB0124", "Unsupported Tensor.item() call with capture_scalar_outputs=False")
        if node.func.attr == "tolist":
            if receiver == INTEGER:
                return Hit(node, "GB0033", "Data dependent operator")
            return Hit(node, "GB0109", "Tensor.tolist() with non-integer tensor")
        return None
    if view.dotted(node.func) in _CASTS and len(node.args) == 1 and is_tensor(view.kind(node.args[0])):
        return Hit(node, "GB0124", "Unsupported Tensor.item() call with capture_scalar_outputs=False")
    return None
