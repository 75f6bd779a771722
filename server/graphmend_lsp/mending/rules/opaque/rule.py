"""What data decides, as one operator: the statements run as they are, inside the graph and not between two of them.

What it does
------------
Statements that only write numbers into tensors made just before (a loop over ``torch.nonzero(m)`` that fills a mask, a table of
positions) become an operator of their own with `torch.library.custom_op`, which is called in their place. Dynamo
puts the call in the graph and does not look inside.

Why it costs
------------
How often such a loop turns, and where it writes, depends on the data: Dynamo ends the graph at its start, and a break inside
it leaves the whole function to Python.

Safety
------
The same statements run in the same order on the same values, so what they write is bit-equal. The operator tells Dynamo
which tensors it changes, so the compiler keeps it in its place. It has no gradient: what is written must be made of
sizes, constants, comparisons and whole numbers. What it only reads is handed on detached. CUDA graphs leave it out.

When it is refused
------------------
When the statements give more than what they write in tensors, or say something, raise, return or draw random numbers; when
a tensor that they write may have another name or may have a gradient; when they read ``self`` or what is
neither a tensor nor a whole number; and inside other loops.
"""

from __future__ import annotations

from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.opaque import RULE
from graphmend_lsp.mending.rules.opaque.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.opaque.run import Run, run_at
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import add_function, spell
from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_DOC = '"""Runs uncompiled, as one operator of the graph."""'


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The operator around a break; empty when the break is about no statements that only write in tensors."""
    request = place.request
    source = place.source
    if place.function is None or _is_operator(source, place.function):
        return ()
    run = run_at(source, place.site)
    return () if run is None else (_mend(request, source, place.function, run),)


def _mend(request: Request, source: Source, function: Function, run: Run) -> Mend:
    name = source.fresh(f"_{function.name.strip('_')}_operator")
    torch, added = spell(source, "torch.Tensor", source.tree)
    if not torch.endswith(".Tensor"):
        raise Refused("`Tensor` is imported by its own name; import torch.")
    torch = torch.removesuffix(".Tensor")
    marks, spots = _marks(source, name, torch, run)
    takes = [f"{one.name}: {torch}.Tensor" if one.tensor else f"{one.name}: int" for one in run.takes]
    lines = [
        *marks,
        *_signature(source, name, takes),
        source.indent + _DOC,
        *(source.indent + line if line else "" for line in run.lines),
    ]
    handed = ", ".join(f"{one.name}.detach()" if one.detached else one.name for one in run.takes)
    spots = [*([added] if added is not None else []), *spots]
    spots.append(add_function(source, lines))
    spots += [edits.remove(source, one) for one in run.statements[:-1]]
    spots.append(edits.replace(source, run.statements[-1], run.statements[-1], [f"{name}({handed})"]))
    return Mend(
        rule=RULE.name,
        title=f"Run {_places(source, run)} as one operator in the graph",
        path=source.path,
        span=request.site.span,
        edits=tuple(spots),
        changes=(
            f"{_places(source, run).capitalize()} run uncompiled, as one operator that the compiler cannot fuse.",
            *(f"`{one.name}` must be a tensor." for one in run.takes if one.assumed),
        ),
    )


def _marks(source: Source, name: str, torch: str, run: Run) -> tuple[list[str], list[TextEdit]]:
    """The lines that make a function an operator, and the imports that they need."""
    written = ", ".join(f'"{one}"' for one in run.writes)
    found = supported(source, source.tree, "operator")
    if found is not None:
        return layout(f"@{found[0]['operator']}({written})", source.indent, line_limit(source)), found[1]
    label, labelled = qualified(source, name)
    lines = [
        f"@{torch}.library.custom_op(",
        f"{source.indent}{label},",
        f"{source.indent}mutates_args=({written}{',' if len(run.writes) == 1 else ''}),",
        f"{source.indent}tags={torch}.Tag.cudagraph_unsafe,",
        ")",
    ]
    return lines, [labelled] if labelled is not None else []


def _signature(source: Source, name: str, takes: list[str]) -> list[str]:
    """The first line of the operator, or its lines when it is long."""
    line = f"def {name}({', '.join(takes)}) -> None:"
    if len(line) <= line_limit(source):
        return [line]
    whole = source.indent + ", ".join(takes)
    inner = [whole] if len(whole) <= line_limit(source) else [f"{source.indent}{one}," for one in takes]
    return [f"def {name}(", *inner, ") -> None:"]


def _places(source: Source, run: Run) -> str:
    first, last = source.span(run.statements[0]).start.line, source.span(run.statements[-1]).end.line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _is_operator(source: Source, function: Function) -> bool:
    marks = ("custom_op", "disable", "operator(")
    return any(mark in source.code(one) for one in function.decorator_list for mark in marks)
