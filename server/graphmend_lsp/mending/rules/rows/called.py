"""What torch's functions and tensors' methods give for rows: the number of dimensions, where each row is treated for itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from graphmend_lsp.mending.facts.per_row import PER_ROW
from graphmend_lsp.mending.rules.rows.rank import UNKNOWN, Rank, whole_number

if TYPE_CHECKING:
    from graphmend_lsp.mending.rules.rows.apart import Body

_ALONG = frozenset(("softmax", "log_softmax", "softmin", "cumsum", "cumprod"))
_OVER = frozenset(("sum", "mean", "prod", "amax", "amin", "any", "all", "logsumexp", "std", "var", "argmax", "argmin"))
_EXTREME = frozenset(("min", "max", "amin", "amax", "any", "all"))
_LIKE = frozenset(("zeros_like", "ones_like", "full_like"))


def rank_of(body: Body, node: ast.Call, name: str, tensors: list[ast.expr]) -> Rank:
    """The rank of what a function of torch or a method of a tensor gives for rows."""
    words = {one.arg: one.value for one in node.keywords}
    rank = body.argument(tensors[0]) if tensors else None
    others = [one for one in (*tensors[1:], *words.values()) if body.argument(one) is not None]
    dimension = words.get("dim", tensors[1] if len(tensors) > 1 else None)
    if name in _EXTREME and len(tensors) == 1 and not words:
        return 0
    if name in ("min", "max") and len(tensors) == 2 and len(others) == 1 and not words:
        return body.together(node, tensors)
    if name in PER_ROW and (name != "where" or len(tensors) == 3):
        return body.together(node, [*tensors, *others])
    if name in _LIKE and not others:
        return rank
    if name in ("linear", "matmul", "mm") and not others and rank not in (0, 1):
        if rank is not None:
            body.apart.products.append(node)
        return rank
    if name == "gather" and len(tensors) == 3:
        body.apart_from_rows(node, rank, tensors[1])
        body.apart.raising.append(node)
        return body.together(node, [tensors[0], tensors[2]])
    if name == "searchsorted" and len(tensors) == 2 and rank not in (None, 0, 1) and len(others) == 1:
        return body.together(node, tensors)
    if others or rank in (None, 0):
        body.refuse(node)
    if name == "pad":
        sides = words.get("pad", dimension)
        size = len(sides.elts) if isinstance(sides, (ast.Tuple, ast.List)) else 0
        mode = words.get("mode")
        constant = mode is None or (isinstance(mode, ast.Constant) and mode.value == "constant")
        if not size or not constant or (rank != UNKNOWN and size > 2 * ((rank or 0) - 1)):
            body.refuse(node)
        return rank
    if name in ("cat", "concat", "unsqueeze", "squeeze", *_ALONG, *_OVER):
        return _dimension(body, node, name, rank or 0, dimension, words)
    raise body.mixes(node)


def _dimension(
    body: Body, node: ast.Call, name: str, rank: int, dimension: ast.expr | None, words: Mapping[str | None, ast.expr]
) -> Rank:
    """The rank of what is computed along, or over, a dimension that must not be that of the rows."""
    if name == "unsqueeze":
        if dimension is None or whole_number(dimension) != -1:
            body.refuse(node)
        return rank + 1 if rank != UNKNOWN else UNKNOWN
    body.apart_from_rows(node, rank, dimension)
    if name in (*_ALONG, "cat", "concat") or rank == UNKNOWN:
        return rank
    kept = words.get("keepdim")
    if kept is not None and not isinstance(kept, ast.Constant):
        body.refuse(node)
    return rank if isinstance(kept, ast.Constant) and kept.value else rank - 1
