"""Data-dependent branching (GB0170): a tensor whose truth decides what runs.

Breaks: `if`, `while`, a conditional expression, every operand of `and`/`or` but the last of a value, `not`, a chained
comparison, the `if` of a comprehension, an `assert` with a formatted message.
Does not break: `assert tensor` with no or a constant message, `x is None`, shapes, dtypes, devices.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "test"


def find(node: ast.expr, view: View) -> Hit | None:
    """The tested expression, when it is a tensor."""
    return Hit(node, "GB0170", "Data-dependent branching") if is_tensor(view.kind(node)) else None
