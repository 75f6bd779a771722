"""Rows that a mask chooses, through a function: all rows are computed, and the mask decides which of them count.

What it does
------------
Rows that go through a function of the file and are put back by the same mask (``out[m], d[m] = f(x[m], w[m, :])``, also
under ``if torch.any(m)``, and in another dtype) go through it as all rows, and only the chosen ones are put back.

Why it costs
------------
How many rows a mask chooses depends on the data, and a graph has fixed shapes: Dynamo ends the graph there.

Safety
------
More work: the function computes every row. Rows that are left out enter as zeros, so that no NaN of theirs is passed on, or as
the lower end where the mask chooses an interval (``(x >= a) & (x <= b)``), and are dropped again where the rows are put back.
It may be safe: where the function holds no product of matrices, gets rows and Python values alone, the run showed how
many dimensions they have, and all rows cost less than ten times as much. Where it looks up or checks values, the filled rows
may make it raise, so that the Python values must be the same in every call of the run. A mend that removes a test for any
row runs the function for no rows, too, and is never safe; another mend keeps the test, and its break.
A program that would rather keep the sizes of the data can set `torch._dynamo.config.capture_dynamic_output_shape_ops`, with
which Dynamo takes lists of rows into the graph where nothing in Python depends on their length.

When it is refused
------------------
When rows are used otherwise than to put them back, when other rows may be put back than were chosen, and when they go through
a module alone, whose matrix products round differently for another number of rows: an operator (`opaque`) keeps those as they
are. A function of the file is read: it is declined when it mixes, counts or draws for rows, branches on them, or does more than
compute; one of another file is taken on trust, and told.
"""

from __future__ import annotations

from graphmend_lsp.mending.rules.rows import RULE
from graphmend_lsp.mending.rules.rows.call import Form, through
from graphmend_lsp.mending.rules.rows.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


_IDS = frozenset({"GB0036"})
_TITLE = "Compute all rows and keep those of the mask"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of rows that a mask chooses, or why there is none; empty when the break is no such choice."""
    ids, source, node = place.gb_ids, place.source, place.node
    if source.function(node) is None:
        return ()
    forms: list[Form] = through(source, node)
    if not _IDS & ids:
        forms = [one for one in forms if one.tests]  # the test must go, which is the break
    return tuple(
        Mend(
            rule=RULE.name,
            title=_TITLE,
            path=source.path,
            span=source.span(source.statement(node) or node),
            edits=tuple(form.edits),
            conditions=tuple((source.path, source.span(one)) for one in form.tests),
            cautions=tuple(dict.fromkeys(form.cautions)),
            assumes=form.assumes,
        )
        for form in forms
    )
