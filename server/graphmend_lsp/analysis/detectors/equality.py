"""Tensors made into one Python bool (GB0033): `torch.equal`, `torch.allclose`, `torch.is_nonzero`, as methods too.

Breaks in a condition, an `assert` or alone. Does not break: `==`, `torch.isclose`, `torch.eq`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "call"

_NAMES = frozenset({"equal", "allclose", "is_nonzero"})


def find(node: ast.expr, view: View) -> Hit | None:
    """A comparison that gives a Python bool."""
    assert isinstance(node, ast.Call)
    namespace, _, name = view.dotted(node.func).rpartition(".")
    if namespace == "torch" and name in _NAMES:
        return Hit(node, "GB0033", "Data dependent operator")
    if isinstance(node.func, ast.Attribute) and node.func.attr in _NAMES and is_tensor(view.kind(node.func.value)):
        return Hit(node, "GB0033", "Data dependent operator")
    return None
