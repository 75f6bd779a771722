"""`not tensor` kept as a value (GB0033): Dynamo gives up on the whole function.

Breaks: `empty = not x.any()`. Does not break here: `if not x.any()`, which is a condition, and `~x.any()`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "negation"


def find(node: ast.expr, view: View) -> Hit | None:
    """The negation, when what it negates is a tensor."""
    if isinstance(node, ast.UnaryOp) and is_tensor(view.kind(node.operand)):
        return Hit(node, "GB0033", "Data dependent operator", skips_frame=True)
    return None
