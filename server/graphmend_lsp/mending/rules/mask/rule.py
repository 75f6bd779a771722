"""Masks at full size: what ``x[m]`` chooses is computed for all elements, and the mask decides which of them count.

What it does
------------
Reductions of chosen elements (``x[m].sum()``, ``(x[m, :] * y[m, :].exp()).mean()``, ``.any()``, ``.norm()``,
``masked_select``, losses of two chosen tensors) reduce all elements, with those left out set to what does not count.
Updates (``y[m] = y[m] * 2``, ``y[m] += v``, ``y[m, 0] = x[m, 1]``, ``y[m] = t[i[m]]``) become ``torch.where``. Behind the
mask may stand ``:``, ``...`` and numbers. Counts and tests of emptiness (``len(m.nonzero()) > 0``, ``x[m].numel()``)
become ``m.any()`` and ``m.sum()``. A list of row numbers, ``i = torch.where(m)[0]``, that only is an index becomes the mask.

Why it costs
------------
How many elements a mask chooses depends on the data, and a graph has fixed shapes: Dynamo ends the graph there.

Safety
------
Elements that are left out are made harmless where the arithmetic is more than linear, so that no NaN of theirs reaches the
gradient. Updates happen in place as before, or the name is bound again when no other code can hold the tensor. A sum of all
elements, zeros among them, may be rounded in another order, so such a mend is never safe.

When it is refused
------------------
When the chosen elements themselves are returned or passed on; ``max``, ``min`` and ``median``, which raise when nothing is
chosen; beside tensors that may have as many elements as the mask chooses; when indices are used otherwise than to
read and write the same rows; when the mask is not the first of several indices, or another list is beside it; when the
gradient of a tensor without dimensions would go through elements that are left out.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.lowering.counted import counted
from graphmend_lsp.mending.lowering.selected import Chosen, chosen, looked_up
from graphmend_lsp.mending.lowering.selected_rows import listed
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.mask.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.mask.held import held
from graphmend_lsp.mending.rules.mask.reduce import reduced
from graphmend_lsp.mending.rules.mask.update import updated
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of what a mask chooses, or why there is none; empty when the break is no mask."""
    request = place.request
    source = place.source
    node = place.node
    if source.function(node) is None:
        return ()
    return _mends(request, source, node)


def _mends(request: Request, source: Source, node: ast.AST) -> tuple[Mend | Declined, ...]:
    kinds = Kinds(source)
    statement = source.statement(node)
    target = _target(statement, node)
    first = chosen(source, node if target is None or isinstance(node, ast.expr) else target)
    if first is None:
        rows = listed(request, source, node, propose)
        answers = (rows,) if rows is not None else counted(request, source, kinds, node)
        index = node if target is None or isinstance(node, ast.expr) else target
        if not answers and isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Tuple):
            raise Refused(
                f"`{render(source, index)}` has a form over all elements only when the mask comes first and `:`, `...` "
                "and numbers follow it."
            )
        return answers
    first = looked_up(source, kinds, first) or first
    kinds = Kinds(source, frozenset({first.tensor}))
    if isinstance(statement, (ast.Assign, ast.AugAssign)) and (place := _written(source, statement, first)) is not None:
        return (updated(source, kinds, statement, place, first),)
    answer = held(request, source, first, propose) or reduced(request, source, kinds, first)
    if answer is None:
        raise Refused(
            f"How many elements `{render(source, first.node)}` has depends on data, and it is used as it is; reduce it, or "
            "keep all elements and the mask."
        )
    return (answer,)


def _target(statement: ast.stmt | None, node: ast.AST) -> ast.expr | None:
    if node is not statement:
        return None
    if isinstance(statement, ast.AugAssign):
        return statement.target
    return statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None


def _written(source: Source, statement: ast.Assign | ast.AugAssign, first: Chosen) -> Chosen | None:
    """The elements that a statement writes to, when they are chosen by the mask of the break."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1:
        return None
    place = chosen(source, targets[0])
    return place if place is not None and ast.dump(place.mask) == ast.dump(first.mask) else None
