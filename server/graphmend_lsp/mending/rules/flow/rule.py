"""Truth and order of tensors as Python asks for them: ``not``, ``any``, ``all``, ``sorted``, ``max`` with a key.

What it does
------------
A value that Python would compute by asking tensors for their truth is computed by tensor operations: ``not t`` is
``~t``, ``any(v > 3 for v in x)`` is ``(x > 3).any()``, ``any([a.any(), b.any()])`` is ``a.any() | b.any()``,
other elements are stacked;
``sorted([a, b])[0]`` and ``max(a, b, key=f)`` choose with `torch.where`, longer lists are sorted by `torch.sort`.

Why it costs
------------
Python needs the truth value at once, so Dynamo ends the graph; in a generator or a ``not`` it gives up the whole function.

Safety
------
The result is a tensor with the same truth where it was a Python bool, so every use of it must be fit for a tensor:
arithmetic with tensors, `torch` functions, conditions. Two values are chosen by the comparison that Python makes, bit-equal also
for NaN; more than two are sorted, and NaN comes last there; the mend says so.

When it is refused
------------------
When the value is returned, stored, indexed with or written in a text; for keys that are no simple functions; when
elements have effects.
"""

from __future__ import annotations

from graphmend_lsp.mending.rules.flow import RULE
from graphmend_lsp.mending.rules.flow.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.flow.order import ordered
from graphmend_lsp.mending.rules.flow.truth import truth
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_TRUTH = frozenset({"GB0170", "GB0033", "GB8335", "GB7000", "GB0088"})
_ORDER = frozenset({"GB0207", "GB0193", "GB0170", "GB7000"})


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a value that Python computes from tensors' truth or order; empty when the break is about no such value."""
    ids = place.gb_ids
    source = place.source
    node = place.node
    if node is None:
        return ()
    made = ordered(source, node) if ids & _ORDER else None
    if made is None and ids & _TRUTH:
        made = truth(source, node)
    if made is None:
        return ()
    spots = [edits.rewrite(source, made.node, made.text), *([made.added] if made.added else [])]
    return (
        Mend(
            rule=RULE.name,
            title=made.title,
            path=source.path,
            span=source.span(made.node),
            edits=tuple(spots),
            conditions=tuple((source.path, source.span(one)) for one in made.conditions),
            cautions=made.cautions,
        ),
    )
