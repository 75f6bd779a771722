"""New tensors that the statements of an operator fill in place: they stay in the operator, and say what its result is like.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from graphmend_lsp.mending.facts.bindings import makes_tensor
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.rules.opaque.sizes import is_fixed
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned

_MADE = frozenset(("zeros", "ones", "full", "empty"))
_LIKE = frozenset(("zeros_like", "ones_like", "full_like", "empty_like"))
_NEW = frozenset(("new_zeros", "new_ones", "new_full", "new_empty"))
_OTHER_SHAPE = frozenset((
    "resize_", "resize_as_", "set_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_",
    "requires_grad_",
))  # fmt: skip
"""What leaves a tensor with other sizes or strides than those that it was made with, or as one that asks for a gradient."""


def made_in_front(
    source: Source, block: Sequence[ast.stmt], first: int, last: int, taken: Collection[str]
) -> int | None:
    """Where the first new tensor is made that the statements from `first` to `last` take and fill; None for no such tensor."""
    found: int | None = None
    filled = {name for statement in block[first : last + 1] for one in ast.walk(statement) for name in changed_by(one)}
    for name in filled.intersection(taken):
        made = [at for at in range(first) if name in assigned(block[at])]
        value = block[made[-1]].value if made and isinstance(block[made[-1]], ast.Assign) else None  # type: ignore[attr-defined]
        if value is not None and makes_tensor(source, value):
            found = made[-1] if found is None else min(found, made[-1])
    return found


def made_as(
    source: Source, statements: Sequence[ast.stmt], name: str, tensors: Collection[str], numbers: Collection[str]
) -> str | None:
    """The expression that makes a tensor which the statements fill and give, where its sizes follow from what they take.

    `tensors` and `numbers` are the names that they take. It is the only value of the tensor's name, stands in no loop or branch,
    reads nothing that the statements bind and no number of a tensor, and they give no tensor another shape.
    """
    bound = [
        one
        for statement in statements
        for one in ast.walk(statement)
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del))
    ]
    mine = [one for one in bound if one.id == name and not isinstance(source.parents.get(one), ast.AugAssign)]
    holder = source.parents.get(mine[0]) if len(mine) == 1 else None
    if not isinstance(holder, ast.Assign) or holder not in statements or holder.targets != [mine[0]]:
        return None
    if any(_reshapes(one) for statement in statements for one in ast.walk(statement)):
        return None
    changing = {one.id for one in bound}
    known = frozenset(numbers) - changing
    return render(source, holder.value) if _makes(source, holder.value, frozenset(tensors) - changing, known) else None


def _makes(source: Source, value: ast.expr, tensors: Collection[str], numbers: Collection[str]) -> bool:
    """Whether a value is a new tensor of sizes that are known from these names, beside constants."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    given = [*value.args, *(one.value for one in value.keywords)]
    name = (dotted(source, value.func) or "").removeprefix("torch.")
    if name in _LIKE and given:
        like, *given = given
    elif value.func.attr in _NEW:
        like = value.func.value
    elif name not in _MADE:
        return False
    else:
        like = None
    if like is not None and not (isinstance(like, ast.Name) and like.id in tensors):
        return False
    read = [one for part in given for one in ast.walk(part) if isinstance(one, ast.Name)]
    foreign = [one for one in read if one.id not in (*tensors, *numbers) and not is_builtin(source, one, "len")]
    return all(is_fixed(source, one, numbers, tensors=False) for one in given) and all(
        (dotted(source, one) or "").startswith("torch") for one in foreign
    )


def _reshapes(node: ast.AST) -> bool:
    """Whether a node may give some tensor another shape: by a method, or by its ``data``."""
    return isinstance(node, ast.Attribute) and (node.attr in _OTHER_SHAPE or isinstance(node.ctx, (ast.Store, ast.Del)))
