"""A branch that changes one tensor in place on both sides: ``if c: x.copy_(y) else: x.mul_(b).add_(y)``.

One side is computed in a copy; the other runs as it is written, in the tensor, so that what it reads in between is what it read
before; then the tensor gets the side that the condition chose. All who hold the tensor see only that.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.lowering.branch import Lowering
from graphmend_lsp.mending.lowering.choice_values import refuse_hazards
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.refused import Refused

# Where these are not chosen, the gradient through them is zero, as their slope is finite where what they read is.
_SMOOTH = frozenset((
    "abs_", "add_", "addcmul_", "clamp_", "clamp_max_", "clamp_min_", "copy_", "fill_", "mul_", "multiply_", "neg_",
    "negative_", "sub_", "subtract_", "zero_",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Store:
    """``name.f_(...).g_(...)``: the calls, first to last."""

    name: ast.Name
    calls: tuple[ast.Call, ...]


def stored(lowering: Lowering, target: ast.If, test: Test, where: str) -> list[str] | None:
    """The lines in place of a branch whose sides are one such statement each; None for any other branch.

    Raises:
        Refused: when a side must not run where it is not taken, or neither can run in a copy.
    """
    source = lowering.source
    then, other = _store(target.body), _store(target.orelse)
    if then is None or other is None or then.name.id != other.name.id or test.static:
        return None
    if source.code(target).startswith("elif") or lowering.kinds.of(then.name) == "python":
        return None
    methods = [_method(call) for call in (*then.calls, *other.calls)]
    simple = len(methods) == 2 and all(one.rstrip("_") in TENSOR_METHODS for one in methods)
    if simple and (lowering.is_owned(then.name.id) or lowering.holds_tensor(then.name)):
        return None  # that is one `torch.where` of two values
    for call in (*then.calls, *other.calls):
        method = _method(call)
        if method not in _SMOOTH:
            raise Refused(
                f"`{method}` changes `{then.name.id}` in place, and is not known to be harmless where it is not chosen."
            )
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            refuse_hazards(source, argument, lowering.changes)
    copied, kept = (then, other) if len(then.calls) == 1 else (other, then)
    if len(copied.calls) > 1:
        line = render(source, copied.calls[-1])
        raise Refused(f"`{line}` may read what its first call has changed, so it cannot be computed in a copy.")
    name = then.name.id
    condition, new = lowering.fresh("condition"), lowering.fresh(f"new_{name}")
    only = copied.calls[0]
    text = render(source, only, {only.func: f"{name}.clone().{_method(only)}"})
    chosen = f"{new}, {name}" if copied is then else f"{name}, {new}"
    lowering.changes.append(f"Every call computes both sides and writes `{name}`.")
    notes = lowering.comments
    return [
        *test.setup,
        f"{condition} = {_own(test.predicate)}",
        *(notes.get(target.body[0] if copied is then else target.orelse[0], ())),
        f"{new} = {text}",
        *(notes.get(target.orelse[0] if copied is then else target.body[0], ())),
        render(source, kept.calls[-1]),
        f"{name}.copy_({where}({condition}, {chosen}))",
    ]


def _store(block: Sequence[ast.stmt]) -> _Store | None:
    if len(block) != 1 or not isinstance(block[0], ast.Expr):
        return None
    calls: list[ast.Call] = []
    node = block[0].value
    while isinstance(node, ast.Call) and _method(node):
        calls.append(node)
        node = node.func.value  # type: ignore[attr-defined]
    return _Store(node, tuple(reversed(calls))) if calls and isinstance(node, ast.Name) else None


def _method(call: ast.Call) -> str:
    """The name of a method that changes a tensor in place by its name; else nothing."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name if name.endswith("_") and not name.endswith("__") else ""


def _own(predicate: str) -> str:
    """A condition that is a tensor of its own, whatever is changed in place after it."""
    node = ast.parse(predicate, mode="eval").body
    new = isinstance(node, (ast.Compare, ast.BinOp)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)
    )
    return predicate if new else f"{operand(predicate)}.clone()"
