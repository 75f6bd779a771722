"""Text written while the model runs: `print` (GB0059) and writing to `sys.stdout` or `sys.stderr` (GB0156)."""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"

_STREAMS = frozenset(f"sys.{stream}.{method}" for stream in ("stdout", "stderr") for method in ("write", "flush"))


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that writes text."""
    assert isinstance(node, ast.Call)
    name = view.dotted(node.func)
    if name == "builtins.print":
        return Hit(node, "GB0059", "Failed to trace builtin operator")
    return Hit(node, "GB0156", "Unsupported method call") if name in _STREAMS else None
