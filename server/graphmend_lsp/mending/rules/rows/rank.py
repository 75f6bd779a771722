"""How many dimensions rows have, as a value: what one of several has, and what constants say of dimensions.

None is no rows; 0 is a largest, a smallest, an ``any`` or an ``all`` over rows.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from graphmend_lsp.mending.syntax.source import Source, assigned

Rank = int | None
UNKNOWN = -1
"""Rows with a number of dimensions that is not known, from what is taken on trust."""
DIFFERS = -2
"""Rows in one case and none, or other ones, in another."""


def merged(ends: Sequence[Mapping[str, Rank]]) -> dict[str, Rank]:
    """The ranks of names behind several ways."""
    return {
        name: joined_rank(tuple(one.get(name) for one in ends))
        for name in dict.fromkeys(n for one in ends for n in one)
    }


def joined_rank(ranks: tuple[Rank, ...]) -> Rank:
    """The rank of what has one of several."""
    if all(one == ranks[0] for one in ranks):
        return ranks[0]
    return UNKNOWN if UNKNOWN in ranks and None not in ranks and DIFFERS not in ranks else DIFFERS


def is_constant(node: ast.expr, value: object) -> bool:
    """Whether an expression is that constant."""
    return isinstance(node, ast.Constant) and node.value is value


def whole_number(node: ast.expr) -> int | None:
    """The whole number that an expression is."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = whole_number(node.operand)
        return -inner if inner is not None else None
    whole = isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)
    return node.value if whole else None  # type: ignore[attr-defined]


def line_of(node: ast.AST) -> str:
    """Where a node stands, for messages."""
    return f"Line {getattr(node, 'lineno', 0)}"


def is_outside(source: Source, name: ast.Name) -> bool:
    """Whether a name is the file's, and may hold a tensor: it is bound, and to something else than a constant."""
    bound = [one for one in source.tree.body if name.id in assigned(one)]
    made = [one for one in bound if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign))]
    return any(not isinstance(one.value, ast.Constant) for one in made) or len(made) > 1
