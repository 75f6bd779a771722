"""One element picked by where the largest or smallest is (GB0033): `x[x.argmax()]` needs the index in Python.

Does not break: `argmax` along a dimension, `index_select`, `gather`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "subscript"


def find(node: ast.expr, view: View) -> Hit | None:
    """A subscript by a single position that the data decides."""
    assert isinstance(node, ast.Subscript)
    index = node.slice
    if not (isinstance(index, ast.Call) and isinstance(index.func, ast.Attribute)) or index.args or index.keywords:
        return None
    if index.func.attr in ("argmax", "argmin") and is_tensor(view.kind(index)) and is_tensor(view.kind(node.value)):
        return Hit(node, "GB0033", "Data dependent operator")
    return None
