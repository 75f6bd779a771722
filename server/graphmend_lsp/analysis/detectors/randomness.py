"""Random numbers of Python (GB0007) and NumPy (GB0033), and torch's generator state set or read (GB0007).

Does not break: torch's own random functions (`torch.rand`, `x.normal_()`, dropout, distributions).
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"

_TORCH = frozenset(
    f"torch.{namespace}{name}"
    for namespace in ("", "random.")
    for name in ("manual_seed", "seed", "get_rng_state", "set_rng_state")
)


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that draws from, or sets, a generator outside the graph."""
    assert isinstance(node, ast.Call)
    name = view.dotted(node.func)
    namespace, _, last = name.rpartition(".")
    if namespace == "numpy.random" and last.islower() and last not in ("default_rng", "seed"):
        return Hit(node, "GB0033", "Data dependent operator")
    if (namespace == "random" and last.islower()) or name in _TORCH:
        return Hit(node, "GB0007", "Attempted to call function marked as skipped")
    return None
