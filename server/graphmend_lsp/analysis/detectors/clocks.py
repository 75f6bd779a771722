"""The time of day or a timer read while the model runs: `time.*` (GB0007), `datetime.now()` (GB0156)."""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"

_DATES = frozenset(f"datetime.{name}" for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today"))


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that reads a clock, or sleeps."""
    assert isinstance(node, ast.Call)
    name = view.dotted(node.func)
    if name in _DATES:
        return Hit(node, "GB0156", "Unsupported method call")
    if name.startswith("time.") and name.count(".") == 1:
        return Hit(node, "GB0007", "Attempted to call function marked as skipped")
    return None
