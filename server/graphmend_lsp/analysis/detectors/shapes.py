"""Operators whose result's shape depends on values (GB0036): nonzero, one-argument where, unique, masked_select, ...

Does not break: `torch.where` with three arguments, `nonzero_static`, `repeat_interleave` by a number
or with `output_size`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View
from graphmend_lsp.analysis.kinds import is_tensor

ON: On = "call"

_ALWAYS = frozenset({"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount"})


def find(node: ast.expr, view: View) -> Hit | None:
    """A call whose result has as many elements as the data says."""
    assert isinstance(node, ast.Call)
    namespace, _, name = view.dotted(node.func).rpartition(".")
    arguments = node.args
    if namespace != "torch":
        if not isinstance(node.func, ast.Attribute) or not is_tensor(view.kind(node.func.value)):
            return None
        name, arguments = node.func.attr, [node.func.value, *node.args]
    if name in _ALWAYS or _is_bare_where(name, node) or _repeats_by_tensor(name, node, arguments, view):
        return Hit(node, "GB0036", "Dynamic shape operator")
    return None


def _is_bare_where(name: str, node: ast.Call) -> bool:
    return name == "where" and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


def _repeats_by_tensor(name: str, node: ast.Call, arguments: list[ast.expr], view: View) -> bool:
    if name != "repeat_interleave" or any(each.arg == "output_size" for each in node.keywords):
        return False
    repeats = [each.value for each in node.keywords if each.arg == "repeats"] or arguments[1:2]
    return any(is_tensor(view.kind(each)) for each in repeats)
