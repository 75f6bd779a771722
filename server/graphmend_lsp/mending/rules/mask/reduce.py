"""Reductions of what a mask chooses, done at full size: elements left out become what the reduction does not count."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import METHODS
from graphmend_lsp.mending.facts.scalars import plain
from graphmend_lsp.mending.lowering.counted import length_of
from graphmend_lsp.mending.lowering.masked import Masked, rewritten
from graphmend_lsp.mending.lowering.selected import Chosen
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Mend, TextEdit

NAME = "mask"
_TITLE = "Reduce all elements under the mask"
_ROUNDS = "The sum goes over all elements, so it may be rounded in another order."
_NEUTRAL = {one.name: one.neutral for one in METHODS.values() if one.neutral is not None and one.name != "logsumexp"}
_RAISING = frozenset(one.name for one in METHODS.values() if one.nonempty)
_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits")


def reduced(request: Request, source: Source, kinds: Kinds, first: Chosen) -> Mend | None:
    """The mend of a reduction around chosen elements; None when they are not reduced.

    Raises:
        Refused: when the reduction, or what it reduces, has no form at full size.
    """
    where, imported = spell(source, "torch.where", first.node)
    if (count := length_of(source, first)) is not None:
        return count.mend(request, source, kinds)
    masked = Masked(source, kinds, first, where)
    loss = _loss(source, first)
    inner = loss.args[0] if loss is not None else masked.grow()
    call = loss or _reduction(source, inner)
    if call is None:
        return None
    name, arguments = masked.scalars.called(call)
    if loss is not None:
        for one in call.args:
            if one is not first.node:
                masked.pair(one)
    elif name in _RAISING:
        raise Refused(f"`{render(source, call)}` raises when the mask chooses nothing, and would not any more.")
    elif name not in (*_NEUTRAL, "mean") or not _is_whole(arguments, call):
        raise Refused(f"`{render(source, call)}` has no form over all elements.")
    mask = masked.mask(first)
    if loss is not None:
        sides = ", ".join(masked.body(one, mask) for one in call.args)
        body = f'{render(source, call.func)}({sides}, reduction="none")'
        text = f"{where}({mask}, {body}, 0).sum() / {operand(mask)}.sum()"
    else:
        body = plain(masked.body(inner, mask))
        text = f"{where}({mask}, {body}, {_NEUTRAL.get(name, '0')}).{'sum' if name == 'mean' else name}()"
        if name == "mean":
            text += f" / {operand(mask)}.sum()"
    cautions = (_ROUNDS,) if name in ("sum", "mean", "prod", "norm", "nansum") or loss is not None else ()
    parent = source.parents.get(call)
    sums = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub))
    alone = (
        sums
        or isinstance(parent, (ast.Assign, ast.Return, ast.keyword))
        or not text.endswith(f" / {operand(mask)}.sum()")
    )
    spots: list[TextEdit] = [*([imported] if imported is not None else []), *masked.above()]
    spots.append(rewritten(source, call, text if alone else f"({text})"))
    return Mend(NAME, _TITLE, source.path, source.span(call), tuple(spots), cautions=cautions)


def _loss(source: Source, first: Chosen) -> ast.Call | None:
    """The loss of two chosen tensors that the elements are an argument of, by its default a mean."""
    call = source.parents.get(first.node)
    if not isinstance(call, ast.Call) or first.node not in call.args or len(call.args) != 2 or call.keywords:
        return None
    name = dotted(source, call.func) or ""
    return call if name.startswith("torch.nn.functional.") and name.rpartition(".")[2] in _LOSSES else None


def _reduction(source: Source, node: ast.expr) -> ast.Call | None:
    """The call that takes the expression as its tensor: ``e.sum()`` or ``torch.sum(e)``."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute):
        call = source.parents.get(parent)
        return call if isinstance(call, ast.Call) and call.func is parent else None
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        return parent if (dotted(source, parent.func) or "").startswith("torch.") else None
    return None


def _is_whole(arguments: list[ast.expr], call: ast.Call) -> bool:
    """Whether a reduction goes over all elements: without arguments."""
    return len(arguments) == 1 and not call.keywords
