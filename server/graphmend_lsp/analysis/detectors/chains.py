"""A chained comparison of tensors (GB0170): `0 < x.sum() < 1` asks for the truth of its first half.

Breaks wherever it stands, in a condition or as a value. Does not break: a single comparison, whose result is a tensor.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "comparison"


def find(node: ast.expr, view: View) -> Hit | None:
    """The whole chain, when anything but its last operand is a tensor."""
    if not isinstance(node, ast.Compare) or len(node.ops) < 2:
        return None
    if any(is_tensor(view.kind(each)) for each in (node.left, *node.comparators[:-1])):
        return Hit(node, "GB0170", "Data-dependent branching")
    return None
