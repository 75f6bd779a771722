"""Python warnings (GB0007): `warnings.warn` is a function that Dynamo skips."""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that warns."""
    assert isinstance(node, ast.Call)
    if view.dotted(node.func) in ("warnings.warn", "warnings.warn_explicit"):
        return Hit(node, "GB0007", "Attempted to call function marked as skipped")
    return None
