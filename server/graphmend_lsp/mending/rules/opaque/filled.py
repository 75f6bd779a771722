"""New tensors that the statements of an operator fill in place: they stay in the operator, and say what its result is like.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from graphmend_lsp.mending.facts.bindings import makes_tensor
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.rules.opaque.sizes import is_fixed
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk

_MADE = frozenset(("zeros", "ones", "full", "empty"))
_LIKE = frozenset(("zeros_like", "ones_like", "full_like", "empty_like"))
_NEW = frozenset(("new_zeros", "new_ones", "new_full", "new_empty"))
OTHER_SHAPE = frozenset((
    "resize_", "resize_as_", "set_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_",
    "requires_grad_",
))  # fmt: skip
"""What leaves a tensor with other sizes or strides than those that it was made with, or as one that asks for a gradient."""


def made_in_front(
    source: Source, block: Sequence[ast.stmt], first: int, last: int, taken: Collection[str]
) -> int | None:
    """Where the first new tensor is made that the statements from `first` to `last` take and fill; None for no such tensor."""
    found: int | None = None
    filled = {name for statement in block[first : last + 1] for one in walk(statement) for name in changed_by(one)}
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
    reads no number of a tensor, and of what the statements bind only sizes that they name in front of it; they give no tensor
    another shape.
    """
    bound = [
        one
        for statement in statements
        for one in walk(statement)
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del))
    ]
    mine = [one for one in bound if one.id == name and not isinstance(source.parents.get(one), ast.AugAssign)]
    holder = source.parents.get(mine[0]) if len(mine) == 1 else None
    if not isinstance(holder, ast.Assign) or holder not in statements or holder.targets != [mine[0]]:
        return None
    if any(_reshapes(one) for statement in statements for one in walk(statement)):
        return None
    in_front = statements[: statements.index(holder)]
    changed = {each for one in in_front for each in assigned(one)}
    named = _named_sizes(source, in_front, tensors, numbers)
    kept = frozenset(tensors) - changed
    if not _makes(source, holder.value, kept, (frozenset(numbers) - changed) | named.keys()):
        return None
    return _with_sizes(source, holder.value, named)


def _named_sizes(
    source: Source, statements: Sequence[ast.stmt], tensors: Collection[str], numbers: Collection[str]
) -> dict[str, str]:
    """The names that statements, one after the other, give to sizes, dtypes and devices of what they take: each with that text.

    A name that one of them binds otherwise, or later once more, is not among them.
    """
    found: dict[str, str] = {}
    taken = {*tensors, *numbers}
    for statement in statements:
        value = statement.value if isinstance(statement, ast.Assign) else None
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        text = None
        if (
            isinstance(target, ast.Name)
            and value is not None
            and is_fixed(source, value, (*taken, *found), tensors=False)
        ):
            names = {one.id for one in walk(value) if isinstance(one, ast.Name)}
            text = _with_sizes(source, value, found) if names <= taken | found.keys() else None
        for name in assigned(statement):
            taken.discard(name)
            found.pop(name, None)
        if text is not None and isinstance(target, ast.Name):
            found[target.id] = text
    return found


def _with_sizes(source: Source, value: ast.expr, named: Mapping[str, str]) -> str:
    """The text of a value with what these names stand for in their place."""
    begin, end = source.range(value)
    names = [one for one in walk(value) if isinstance(one, ast.Name) and one.id in named]
    if not names:
        return render(source, value)
    text = source.text.value[begin:end]
    for one in sorted(names, key=lambda one: source.range(one)[0], reverse=True):
        first, last = source.range(one)
        text = text[: first - begin] + f"({named[one.id]})" + text[last - begin :]
    return ast.unparse(ast.parse(text, mode="eval"))


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
    read = [one for part in given for one in walk(part) if isinstance(one, ast.Name)]
    foreign = [one for one in read if one.id not in (*tensors, *numbers) and not is_builtin(source, one, "len")]
    return all(is_fixed(source, one, numbers, tensors=False) for one in given) and all(
        (dotted(source, one) or "").startswith("torch") for one in foreign
    )


def is_made(source: Source, value: ast.expr) -> bool:
    """Whether a value is a new tensor whose elements are not computed of others."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr in _NEW or (dotted(source, value.func) or "").removeprefix("torch.") in _MADE | _LIKE


def _reshapes(node: ast.AST) -> bool:
    """Whether a node may give some tensor another shape: by a method, or by its ``data``."""
    return isinstance(node, ast.Attribute) and (node.attr in OTHER_SHAPE or isinstance(node.ctx, (ast.Store, ast.Del)))
