"""Functions of Python's `math` given a tensor (GB0033): they need its value. `torch.sqrt` and the like do not."""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "call"


def find(node: ast.expr, view: View) -> Hit | None:
    """A call of a `math` function with a tensor."""
    assert isinstance(node, ast.Call)
    if view.dotted(node.func).startswith("math.") and any(is_tensor(view.kind(each)) for each in node.args):
        return Hit(node, "GB0033", "Data dependent operator")
    return None
