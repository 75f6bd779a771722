"""A parameter, or a layer with parameters, made while the model runs (GB0264).

Does not break: layers without parameters (`nn.ReLU()(x)`), and everything made in `__init__`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"

_CLASSES = frozenset(
    f"torch.nn.{name}"
    for name in (
        *("Parameter", "parameter.Parameter", "Linear", "Bilinear", "Embedding", "LayerNorm"),
        *(f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "BatchNorm") for n in (1, 2, 3)),
    )
)


def find(node: ast.expr, view: View) -> Hit | None:
    """A call of a class that holds parameters."""
    assert isinstance(node, ast.Call)
    if view.dotted(node.func) in _CLASSES:
        return Hit(node, "GB0264", "Attempted to use `torch.nn.Parameter()` constructor with Dynamo")
    return None
