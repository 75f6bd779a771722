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
    calls = (
        one
        for one in calls_around(place.request)
        if message_of(one.source, one.request.sources, one.site.statement) is not None
    )
    why: Refused | None = None
    for one in (place, *calls):
        try:
            if one is not place:
                _refuse_branch(one)
            mend = message_in_graph(RULE.name, one)
        except Refused as refused:
            why = refused
            continue
        if mend is not None:
            if one is not place:  # it rests on what was seen there
                place.source.rested.clear()
                place.source.rested.update(one.source.rested)
            return (mend,)
    if why is not None:
        raise why
    return ()


def _refuse_branch(call: Place) -> None:
    """Refuse a call in a branch that does more and breaks the graph: the mend of the branch takes the call with it."""
    around = call.source.parents.get(call.site.statement)
    if isinstance(around, ast.If) and len(around.body) > 1 and Kinds(call.source).of(around.test) != "python":
        raise Refused(f"The call stands under `if {call.source.code(around.test)}:`; mend the graph break there first.")
