"""Indices that stay tensors: ``x[x.argmax()]``, ``x[int(i)]``, ``y[i.item()] = v`` and elements of short lists.

What it does
------------
An index that is a tensor is used as one: ``x[i]`` becomes ``x[i.reshape(1)].squeeze(0)``, also beside slices and
constants (with `torch.as_tensor(i, device=x.device)` where other calls may give a Python number or a tensor of another
device), and ``y[i] = v`` becomes ``y[i.reshape(1)] = v``. A list of numbers that is indexed by a tensor becomes a tensor
first, a list of tensors is stacked.

Why it costs
------------
``x[i]`` with one number is a view whose place in memory depends on it, so Dynamo must know the number: it ends the graph
and waits for the value.

Safety
------
The same elements, also for negative indices. An index out of range still raises, but compiled it may be RuntimeError instead of
IndexError, and on CUDA it is raised later, and ends the CUDA context. The result is a copy and not a view;
where somebody writes to the view, or to the tensor while the view is in use, it is refused. An element of a list of
tensors gives gradients to the chosen tensor only; the others get zeros, and None before.

When it is refused
------------------
For dicts, modules and lists that are not written out; when the view is changed in place or stored in an attribute; when the
index is also used as a number elsewhere (see `item`); for indices mixed with other tensors.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.python_callers import is_number_elsewhere, was_whole_number
from graphmend_lsp.mending.lowering.number_text import followed, mend, read_at, written
from graphmend_lsp.mending.lowering.picked import picked
from graphmend_lsp.mending.rules.index import RULE
from graphmend_lsp.mending.rules.index.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.branches import branch_of
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_TITLE = "Index with the tensor"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of an index that is read from a tensor, or why there is none; empty when the break is no index."""
    request = place.request
    source, node, ids = place.source, place.node, place.gb_ids
    if source.function(node) is None:
        return ()
    subscript = _subscript(node)
    try:
        if subscript is not None:
            return _direct(source, subscript, "GB0033" in ids)
        found = read_at(source, node, ids)
        if found is None or branch_of(source, node) is not None:
            return ()
        flow = followed(source, Kinds(source, frozenset({found.tensor})), found)
        if not flow.indices:
            return ()
        return (mend(RULE.name, _TITLE, request, source, flow, written(source, flow), found.call),)
    except Refused as refused:
        return (Declined(RULE.name, str(refused)),) if subscript is not None else ()


def _subscript(node: ast.AST) -> ast.Subscript | None:
    """The subscript that a break is at: itself, or what an assignment stores to."""
    if isinstance(node, ast.Subscript):
        return node
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return targets[0] if len(targets) == 1 and isinstance(targets[0], ast.Subscript) else None
    return None


def _direct(source: Source, subscript: ast.Subscript, of_tensor: bool) -> tuple[Mend | Declined, ...]:
    """``x[t]``, with the tensor itself as the index; `of_tensor`: the run told that a tensor is indexed."""
    kinds = Kinds(source)
    if of_tensor and kinds.of(subscript.value) != "python":
        kinds = Kinds(source, frozenset({subscript.value}))
    entries = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    parts = [one for one in entries if not isinstance(one, ast.Slice)]
    indices = [one for one in parts if kinds.of(one) == "tensor" or (of_tensor and was_whole_number(source, one))]
    if len(indices) != 1 or kinds.is_bool(indices[0]) or _has_dimensions(indices[0]):
        return ()
    place = picked(source, kinds, indices[0])
    if place is None:
        raise Refused(f"`{render(source, subscript.value)}` is not known to be a tensor or a list that is written out.")
    text, imported = render(source, indices[0]), place.imported
    if isinstance(indices[0], ast.Name) and is_number_elsewhere(source, indices[0]):
        as_tensor, needed = spell(source, "torch.as_tensor", subscript)
        table = operand(render(source, subscript.value))
        text, imported = f"{as_tensor}({text}, device={table}.device)", imported or needed
    spots = [edits.rewrite(source, subscript, place.text(text))]
    if imported is not None:
        spots.append(imported)
    return (Mend(RULE.name, _TITLE, source.path, source.span(subscript), tuple(spots)),)


def _has_dimensions(node: ast.expr) -> bool:
    """Whether an index was given a shape: then it takes no number out of the graph."""
    shaping = ("reshape", "unsqueeze", "view", "flatten", "expand", "repeat")
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in shaping
