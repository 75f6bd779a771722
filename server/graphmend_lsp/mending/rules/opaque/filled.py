"""New tensors that the statements of an operator fill in place: they stay in the operator, and say what its result is like.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from graphmend_lsp.mending.facts.bindings import makes_tensor
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned

_MADE = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "empty", "empty_like"))
_NEW = frozenset(("new_zeros", "new_ones", "new_full", "new_empty"))
_PYTHON = frozenset(("len", "max", "min", "int", "tuple", "list", "sum"))
_OTHER_SHAPE = frozenset((
    "resize_", "resize_as_", "set_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_",
    "requires_grad_", "apply_", "map_",
))  # fmt: skip
"""What leaves a tensor with other sizes or strides than those that it was made with."""


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


def made_as(source: Source, statements: Sequence[ast.stmt], name: str, taken: Collection[str]) -> str | None:
    """The expression that makes a tensor which the statements fill and give, where its sizes follow from what they take.

    It is the only one that the name is bound to, stands in no loop or branch, and nothing gives the tensor another shape.
    """
    bound = [
        one
        for statement in statements
        for one in ast.walk(statement)
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, (ast.Store, ast.Del))
        and not isinstance(source.parents.get(one), ast.AugAssign)
    ]  # fmt: skip
    holder = source.parents.get(bound[0]) if len(bound) == 1 else None
    if not isinstance(holder, ast.Assign) or holder not in statements or holder.targets != [bound[0]]:
        return None
    call = holder.value
    if not isinstance(call, ast.Call) or not _makes(source, call):
        return None
    names = [one for one in ast.walk(call) if isinstance(one, ast.Name)]
    read = {one.id for one in names if not any(is_builtin(source, one, known) for known in _PYTHON)}
    root = source.code(call.func).split(".")[0]
    if not (read - {root}) <= set(taken) or (root not in taken and dotted(source, call.func) is None):
        return None
    if any(_reshapes(one, name) for statement in statements for one in ast.walk(statement)):
        return None
    return render(source, call)


def _makes(source: Source, call: ast.Call) -> bool:
    name = dotted(source, call.func) or ""
    if name.startswith("torch."):
        return name.removeprefix("torch.") in _MADE
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.attr in _NEW


def _reshapes(node: ast.AST, name: str) -> bool:
    """Whether a node may give the tensor of a name another shape: by a method, by its ``data``, or handed to what may do that."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
        return node.attr in _OTHER_SHAPE or isinstance(node.ctx, (ast.Store, ast.Del))
    return False
