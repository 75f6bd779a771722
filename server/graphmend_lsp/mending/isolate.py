"""What no rule mends is put behind one boundary: the rest of the function stays in few graphs.

What it does
------------
The statements around the break that Dynamo cannot trace become a function of their own under `torch.compiler.disable`, which is
called in their place: several breaks in a row become one, and a break in a loop, a ``try`` or a ``with`` no longer leaves
the whole function to Python. This removes no break: it is offered only where no other rule mends.

Why it costs
------------
Each break ends a graph and starts another one; a break that cannot be resumed (in a loop, a ``try``, a ``with``) costs the graphs
of its whole function.

Safety
------
The same statements run, in the same order, with the same values, uncompiled. What they store is returned to where it
was. The gain is measured: the mend is only offered when the program is cut less.

When it is refused
------------------
When the statements return, leave a loop from inside, suspend, or change what is global; when a name that they store may have no
value; and when there is only one break, on the function's own level, which one boundary would not make cheaper.
"""

from __future__ import annotations

from graphmend_lsp.mending import edits
from graphmend_lsp.mending.imports import add_function, spell
from graphmend_lsp.mending.isolate_examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.isolate_run import Run, run_around
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.source import Function, Source, Unreadable, read
from graphmend_lsp.mending.where_condition import Refused
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "NAME", "REFUSALS", "propose"]

NAME = "isolate"
_DOC = '"""Runs uncompiled, in one piece: TorchDynamo cannot trace it."""'


def propose(request: Request) -> tuple[Mend | Declined, ...]:
    """The boundary around a break; empty when the break is in no function or is one that a boundary would not help."""
    site = request.site
    source = read(site.path, request.sources.get(site.path, ""))
    if isinstance(source, Unreadable):
        return (Declined(NAME, source.reason),)
    place = source.site(site.span)
    if place is None or place.function is None or _is_disabled(source, place.function):
        return ()
    try:
        run = run_around(source, place)
        return () if run is None else (_mend(request, source, place.function, run),)
    except Refused as refused:
        return (Declined(NAME, str(refused)),)


def _mend(request: Request, source: Source, function: Function, run: Run) -> Mend:
    name = source.fresh(f"_{function.name.strip('_')}_uncompiled")
    disable, added = spell(source, "torch.compiler.disable", source.tree)
    inner = source.indent
    lines = [f"@{disable}", f"def {name}({', '.join(run.takes)}):", inner + _DOC]
    lines += [inner + line if line else "" for line in run.lines]
    if run.gives:
        lines.append(f"{inner}return {', '.join(run.gives)}")
    call = f"{name}({', '.join(run.takes)})"
    new = f"{', '.join(run.gives)} = {call}" if run.gives else call
    spots: list[TextEdit] = [added] if added is not None else []
    spots.append(add_function(source, lines))
    spots.append(edits.replace(source, run.first, run.last, [new]))
    return Mend(
        rule=NAME,
        title=f"Isolate {_places(source, run)} behind torch.compiler.disable (still a break)",
        path=source.path,
        span=request.site.span,
        edits=tuple(spots),
        changes=("One break stays: these statements run uncompiled, in a function of their own.",),
    )


def _places(source: Source, run: Run) -> str:
    first, last = source.span(run.first).start.line, source.span(run.last).end.line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _is_disabled(source: Source, function: Function) -> bool:
    return any("disable" in source.code(one) for one in function.decorator_list)
