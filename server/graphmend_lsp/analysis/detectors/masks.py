"""A tensor read through a boolean mask (GB0036): `x[x > 0]` has as many elements as the mask is true.

Does not break: storing a number through a mask (`x[m] = 0`), indexing with integers, slices or an integer tensor.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import MASK, is_tensor

ON: On = "subscript"


def find(node: ast.expr, view: View) -> Hit | None:
    """A subscript that selects by a mask."""
    assert isinstance(node, ast.Subscript)
    index = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if is_tensor(view.kind(node.value)) and any(view.kind(each) == MASK for each in index):
        return Hit(node, "GB0036", "Dynamic shape operator")
    return None
