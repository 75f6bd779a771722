"""Numbers that stay tensors: ``t.item()``, ``float(t)``, ``int(t)`` and what is computed with them.

What it does
------------
A number that is read from a tensor (``.item()``, ``float``, ``int``, ``bool``, ``sum(t.tolist())``) is kept as a tensor
without dimensions, detached, because a number has no gradient. Every use of the number is followed: arithmetic, comparisons,
``abs``, ``round``, ``min``, ``max`` and ``math`` functions, arguments of tensor methods, and conditions, which
become ``torch.where``.

Why it costs
------------
Python needs the value, so Dynamo ends the graph there and the program waits until the device has computed it.

Safety
------
A tensor without dimensions does not change the dtype of a floating tensor that has some, as a Python number does not.
Beside another one the mend assumes that dtypes stay, and the verdict tries one that has no dimensions and another dtype.
CUDA divides by a number as it multiplies by the reciprocal, and the mend says so. torch computes a power in another way
where the exponent is a tensor: the last bit may differ, and such a mend is never safe. Beside a float16 tensor torch
rounds a tensor that is the first factor, so `alpha * y` becomes `y * alpha`; torch divides a number by `y` as it multiplies
the reciprocal of `y`, so `alpha / y` becomes `y.reciprocal() * alpha`. Python computes in float64: one step with numbers
that every dtype holds gives the same bits; more is computed in float64 and brought to the dtype of the tensor that it
meets, and refused where that is not known. Integers are computed with in int64, which ``prod()`` of a single element makes
of them (floats stay as they are), and divided in float64; where the dtype behind that is not known, the mend assumes that
float64 is not needed. A tensor that may change in place later, or before a backward pass, is copied. ``int`` of NaN
raises and a tensor does not, and Python sums a list in float64 one by one; such mends are never called safe.

When it is refused
------------------
Where only a number will do: in a text, as a key, the bound of a slice or the turns of a loop, returned, stored in an
attribute or a list, passed to other functions; where Python raises and a tensor would give NaN or infinity (a divisor that
may be 0, ``math.sqrt`` of what may be negative); when the name is bound in several places or used in a nested function; when the
condition that it decides cannot be chosen with `torch.where`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.python_callers import python_elsewhere
from graphmend_lsp.mending.lowering.number_text import followed, mend, read_at, written
from graphmend_lsp.mending.rules.item import RULE
from graphmend_lsp.mending.rules.item.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.branches import branch_of
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_TITLE = "Keep the number as a tensor"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a number read from a tensor, or why there is none; empty when the break is no such read."""
    request = place.request
    source, node = place.source, place.node
    found = read_at(source, node, place.gb_ids)
    if found is None or branch_of(source, node) is not None:
        return ()
    if source.function(node) is None:
        return (Declined(RULE.name, "The number is not read inside a function."),)
    asked = isinstance(found.call, ast.Call) and isinstance(found.call.func, ast.Name)
    if asked and (words := python_elsewhere(source, found.tensor)) is not None:
        return (Declined(RULE.name, words),)
    flow = followed(source, Kinds(source, frozenset({found.tensor})), found)
    if flow.indices:
        return ()
    return (mend(RULE.name, _TITLE, request, source, flow, written(source, flow), found.call),)
