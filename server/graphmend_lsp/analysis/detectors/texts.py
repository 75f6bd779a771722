"""A tensor made into text or copied deeply: `str(t)`, `repr(t)` (GB0059, GB0569), `copy.deepcopy(t)` (GB4198).

Does not break: the same of shapes, dtypes and numbers.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "call"

_TYPES = {
    "builtins.str": ("GB0059", "Failed to trace builtin operator"),
    "builtins.repr": ("GB0569", "repr() on tensor"),
    "copy.deepcopy": ("GB4198", "Attempted to copy.deepcopy a tensor"),
}


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that turns a tensor into something else than a tensor of the graph."""
    assert isinstance(node, ast.Call)
    known = _TYPES.get(view.dotted(node.func))
    if known is None or len(node.args) != 1 or not is_tensor(view.kind(node.args[0])):
        return None
    return Hit(node, *known)
