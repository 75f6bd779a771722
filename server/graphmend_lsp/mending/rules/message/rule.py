"""Messages in the graph: an operator of the graph logs, prints or writes, at the same place.

What it does
------------
``logger.info("shape %s", x.shape)`` becomes ``call_in_graph(lambda shape: logger.info("shape %s", shape), x.shape)``. Uncompiled
code runs the lambda at once. A graph holds one operator that runs it, with the sizes, texts, numbers and tensors of its place. An
``if`` on a tensor around nothing but the message goes into the lambda. Where a function of the program only says something
(``print_rank_0``, ``warn_once``), and what it says is not known in it, the call of that function becomes the operator.

Why it costs
------------
A graph cannot log: Dynamo ends it at the call, logs in Python, and starts another graph. In a loop or a ``try`` the whole
function runs uncompiled.

Safety
------
The operator is ordered: messages keep their order, none is dropped or said twice, with gradients too. Tensors are shown as
numbers (``.item()``, a format, a comparison), so that no text tells of gradients, which a graph does not know. Log records carry
the line and the function that they carried. An operator that raises for its data (an index, a check) may raise before the
message is said, or after: where a compiled graph holds one that the message does not need, the mend assumes that it does not
raise.

When it is refused
------------------
For a text that shows a whole tensor whose gradient it would tell of, for an exception or a stack, for a stream that is redirected
here, for objects that Dynamo cannot hold as constants, for a ``stacklevel``, and in functions that `torch.func` or `vmap` map,
which have no rule for the operator.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.speakers import message_of
from graphmend_lsp.mending.lowering.said import message_in_graph
from graphmend_lsp.mending.rules.message import RULE
from graphmend_lsp.mending.rules.message.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.break_site import Place, calls_around
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The message as an operator, where it stands or where a function is called that only says it; empty for no message."""
    why: Refused | None = None
    try:
        mend = message_in_graph(RULE.name, place)
    except Refused as refused:
        mend, why = None, refused
    if mend is None:
        for call in calls_around(place.request):
            if message_of(call.source, call.request.sources, call.site.statement) is None:
                continue
            around = call.source.parents.get(call.site.statement)
            if isinstance(around, ast.If) and len(around.body) > 1 and Kinds(call.source).of(around.test) != "python":
                why = Refused(
                    f"It stands under `if {call.source.code(around.test)}:`; mend the graph break there first."
                )
                continue
            try:
                mend = message_in_graph(RULE.name, call)
            except Refused as refused:
                why = refused
            place.source.rested.clear()
            place.source.rested.update(call.source.rested)
            if mend is not None:
                break
    if mend is None and why is not None:
        raise why
    return () if mend is None else (mend,)
