"""Log records, by what the method is called on: any method of a logger (GB0291), and `logging.info` itself (GB4841).

A logger is what `logging.getLogger` or any `get_logger` gave, wherever it is kept. Every level breaks, enabled or not,
and so does `isEnabledFor`. A method called `info` of something else is left alone.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"

_ROOT = frozenset(
    f"logging.{method}"
    for method in ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")
)


def find(node: ast.expr, view: View) -> Hit | None:
    """A call of a logger's method."""
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute) and view.kind(node.func.value).tag == "logger":
        return Hit(node, "GB0291", "logging.Logger method not supported for non-export cases")
    return Hit(node, "GB4841", "Unsupported python_type() call") if view.dotted(node.func) in _ROOT else None
