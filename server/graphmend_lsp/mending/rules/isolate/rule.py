"""What no rule mends is put behind one boundary: the rest of the function stays in few graphs.

What it does
------------
The statements around the break that Dynamo cannot trace become a function of their own under `torch.compiler.disable`, which is
called in their place: several breaks in a row become one, and a break in a loop, a ``try``, a ``with`` or a generator
expression no longer leaves the whole function to Python. Where the body of the loop, the ``try`` or the ``with`` computes
enough, it becomes a compiled function that is called inside, and only the break is lost; modules and functions that the
statements call stay compiled. The new function stands directly after the old one, in its class, where the lines keep their place
in a diff; else at the top of the file. This removes no break: GraphMend offers it only where no other rule mends.

Why it costs
------------
Each break ends a graph and starts another one; a break that cannot be resumed (in a loop, a ``try``, most kinds of ``with``, a
generator expression) costs the graphs of its whole function, or of everything after it.

Safety
------
The same statements run, in the same order, with the same values. What they store is returned to where it was; what they
return, the function returns. The body of a ``try`` or ``with`` is compiled by itself only where nothing sees what it stored
before an exception, and where the exceptions that are caught are the same in compiled code: an operator's ``RuntimeError``
or ``ValueError`` is not. The gain is measured: the mend is only offered when the program is cut less.

When it is refused
------------------
When the statements leave a loop from inside, suspend, change what is global or read the names around them (``eval``,
``locals``); when they return, but the function may go on behind them and computes more; when a name that they store may have
no value; in a coroutine; and when there is only one break, on the function's own level, which one boundary would not make
cheaper.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from graphmend_lsp.mending.facts.effects import effect_of
from graphmend_lsp.mending.lowering.outlined import Run, text_of
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.isolate import RULE
from graphmend_lsp.mending.rules.isolate.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.isolate.part import part_in
from graphmend_lsp.mending.rules.isolate.run import is_all, run_around
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.beside import Spot, spot_for
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.model import Assumption, Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_DOC = '"""Runs uncompiled, in one piece: TorchDynamo cannot trace it."""'
_DOC_OF_CALLS = '"""Runs uncompiled; what it calls is compiled by itself."""'
_DOC_AROUND = '"""Runs uncompiled: TorchDynamo cannot go on behind a break in it."""'
_DOC_OF_PART = '"""Compiled by itself: a break in it costs no more than a graph."""'
_CHANGE = "One break stays: these statements run uncompiled, in their own function."
_CHANGE_OF_CALLS = (
    "One break stays: these statements run uncompiled, in their own function; what they call is compiled."
)
_CHANGE_OF_PART = (
    "One break stays: what is inside is a compiled function of its own, what is around it runs uncompiled."
)


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The boundary around a break; empty when the break is in no function or is one that a boundary would not help."""
    request = place.request
    source = place.source
    if place.function is None or _is_disabled(source, place.function):
        return ()
    if isinstance(place.function, ast.AsyncFunctionDef):
        words = (
            f"`{place.function.name}` is a coroutine, where TorchDynamo compiles nothing after a break; compile what it "
            "calls."
        )
        return (Declined(RULE.name, words),)
    run = run_around(source, place.site)
    if run is None:
        return ()
    part = part_in(source, place.site, run)
    if part is None and is_all(source, place.function, run):
        raise Refused("The function has nothing else to compile.")
    return (_mend(request, source, place.function, run, part),)


def _mend(request: Request, source: Source, function: Function, run: Run, part: Run | None) -> Mend:
    disable, added = spell(source, "torch.compiler.disable", source.tree)
    name = source.fresh(f"_{function.name.strip('_')}_uncompiled")
    spot = spot_for(source, function, run.first, run.last) if part is None else Spot(source)
    lines, told = run.lines, _CHANGE
    doc = _DOC
    above: list[str] = []
    if part is not None:
        inner = source.fresh(f"_{function.name.strip('_')}_part", frozenset((name,)))
        above = [*_function(source, inner, part, _DOC_OF_PART), "", ""]
        lines, told, doc = text_of(source, run, part, _call(inner, part)), _CHANGE_OF_PART, _DOC_AROUND
    mark = f"@{disable}(recursive=False)" if part is not None or run.calls else f"@{disable}"
    if part is None and run.calls:
        told, doc = _CHANGE_OF_CALLS, _DOC_OF_CALLS
    whole = [*above, mark, *_function(source, name, replace(run, lines=lines), doc)]
    spots: list[TextEdit] = [added] if added is not None else []
    spots.append(spot.edit(whole, takes_self=run.takes[:1] == ("self",)))
    spots.append(edits.replace(source, run.first, run.last, [_call(spot.called(name), run)]))
    title = f"Run {_places(source, run)} uncompiled, as one graph break"
    if part is not None:
        title = f"Compile {_places(source, part)} apart; a graph break around them stays"
    return Mend(
        rule=RULE.name,
        title=title,
        path=source.path,
        span=request.site.span,
        edits=tuple(spots),
        changes=(told,),
        assumes=_assumed(source, run),
    )


def _assumed(source: Source, run: Run) -> tuple[Assumption, ...]:
    """That a record's function name, the helper's, is shown nowhere."""
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    for one in source.nodes:
        said = effect_of(source, one)
        if said is not None and said.kind in ("log", "warn") and begin <= source.range(one)[0] < end:
            words = f"nobody is shown the name of the function that `{said.label}` stands in"
            return (Assumption("settings", words, ((source.path, source.span(one)),)),)
    return ()


def _function(source: Source, name: str, run: Run, doc: str) -> list[str]:
    inner = source.indent
    lines = [f"def {name}({', '.join(run.takes)}):", inner + doc, *(inner + one if one else "" for one in run.lines)]
    return [*lines, f"{inner}return {', '.join(run.gives)}"] if run.gives else lines


def _call(name: str, run: Run) -> str:
    call = f"{name}({', '.join(run.takes)})"
    if run.returns:
        return f"return {call}"
    return f"{', '.join(run.gives)} = {call}" if run.gives else call


def _places(source: Source, run: Run) -> str:
    first, last = source.span(run.first).start.line, source.span(run.last).end.line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _is_disabled(source: Source, function: Function) -> bool:
    return any("disable" in source.code(one) for one in function.decorator_list)
