"""What data decides, as one operator: the statements run as they are, inside the graph and not between two of them.

What it does
------------
Statements that take tensors and give tensors (a loop as long as data says, gradients that are computed inside, a function of
numpy) become one operator of the graph: a function that is called in their place, and that Dynamo does not look into. They
are as few as hold the break, what is no tensor inside, and what it needs; where one of them returns, they go to the end of
the function; where values decide the size of a result, they go on to where sizes are known again, if that is soon. ``like=``
says what the results look like; a parameter without an annotation is a tensor, and `any_size()` is a size that only values
decide. A list or dict that the statements fill is made in the operator. So is a new tensor that they fill part by part, and
``like=`` makes it in the same way; one that the function made before, and that nothing else holds, is filled as a copy, which
takes its place. One that others may hold, as a caller's, is named in front of ``like=``: in a graph the operator gives its
new elements, which are then copied into it. A parameter ``object`` takes what Python knows while it traces, and lists, tuples
and dicts with tensors. Of ``self``, a configuration or another object it takes the attributes that the statements read. A
module that they call (``torch.nn.Module``) is taken as its parameters and buffers, with which the operator runs it: one of
torch's that only computes, or of a class of the file whose `forward` does (``modules=``). Methods of ``self`` that do not
read it are called as they are (``methods=``). Statements that a flag, or None, kept from running may do anything. Where the
break is in a function that gives no tensors, its call is what becomes the operator. A function, or a static method, of which
only what costs little is left over, is marked as the operator itself, and its statements stay where they are. Statements that
only write numbers into tensors made just before become an operator that changes these. The operator stands directly after the
function, in its class, where the statements keep their place in a diff; else at the top of the file.

Why it costs
------------
How often such a loop turns, and what Python reads of a tensor, depends on the data: Dynamo ends the graph at its start, and a
break inside a loop leaves the whole function to Python.

Safety
------
The same statements run in the same order on the same values. Uncompiled, and under autocast, the function is called as it is;
so it is, with a graph break, for an argument of another type than a run showed, or for booleans and complex numbers that no
run showed there (``flags=`` names those that a run showed), or where a flag that decides what the results look like has
another value than in the run (``only=``). In a graph its results are in memory of their own; a result that looks otherwise
than ``like=`` says is an error, never another value. An operator with a module runs uncompiled, with a graph break, where the
module has hooks, draws random numbers (dropout in training) or changes its statistics, and where a class overrides a method
that is called. The backward pass runs the statements again, with gradients; so do gradients of gradients. Which tensors have
a gradient, and both sides of each condition, are compared. An operator without ``like=`` has no gradient: what is written
must be made of sizes, constants, comparisons and whole numbers. A tensor that others may hold, and that is a leaf with a
gradient or has elements which share memory, is filled uncompiled, with a graph break; compiled, it counts as changed also
where no element was. CUDA graphs leave operators out.

When it is refused
------------------
When no run shows what the results look like, when the statements say something, draw random numbers, change or store what
others may hold, raise where a caller may catch it, read what may change outside of the function, call what is not known to
compute only, run a module that code changes which may be compiled (its mode, an attribute), or ask a tensor whether it has a
gradient (also in its text); when a result depends on which tensor it is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphmend_lsp.mending.facts.caught import catching
from graphmend_lsp.mending.facts.effects import effect_of
from graphmend_lsp.mending.facts.elsewhere import Elsewhere
from graphmend_lsp.mending.facts.stored_before import stored_before
from graphmend_lsp.mending.rule import SUPPORT, Request
from graphmend_lsp.mending.rules.opaque import (
    RULE,
    called_examples,
    carried_examples,
    changed_examples,
    examples,
    sized_examples,
)
from graphmend_lsp.mending.rules.opaque.like import ANY_SIZE
from graphmend_lsp.mending.rules.opaque.modules import MODULE
from graphmend_lsp.mending.rules.opaque.region import Region, region_at, whole_at
from graphmend_lsp.mending.rules.opaque.run import Run, lines_of, run_at
from graphmend_lsp.mending.rules.opaque.whole import in_place
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.beside import Spot, spot_for
from graphmend_lsp.mending.syntax.break_site import Place, calls_around
from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Declined, Mend, Span, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

EXAMPLES = (
    *examples.EXAMPLES,
    *carried_examples.EXAMPLES,
    *changed_examples.EXAMPLES,
    *sized_examples.EXAMPLES,
    *called_examples.EXAMPLES,
)
REFUSALS = (*examples.REFUSALS, *carried_examples.REFUSALS, *changed_examples.REFUSALS, *called_examples.REFUSALS)
_WRITES = frozenset({"GB0036", "GB0124", "GB0170", "GB0033", "GB0109", "GB7000"})
_DOC = '"""Runs uncompiled, as one operator of the graph."""'


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The operator around a break; empty when the break is what only says something, or stands in an operator."""
    source, sources = place.source, place.request.sources
    if place.function is None or _is_operator(source, place.function):
        return ()
    if effect_of(source, place.site.statement) is not None or isinstance(place.site.statement, (ast.Raise, ast.Assert)):
        return ()
    writes = place.gb_ids & _WRITES
    why = None
    try:
        run = run_at(source, place.site) if writes else None
    except Refused as refused:
        run, why = None, refused
    if run is not None:
        return (_mend(place.request, source, place.function, run),)
    for one in (place, *(each for each in calls_around(place.request) if each.function is not place.function)):
        if one.function is None or _is_operator(one.source, one.function):
            continue
        try:
            region = region_at(one.source, one.site, sources)
            if region.raises:
                _refuse_raised(one, one.function, region)
            mend = _of_region(one.request, one.source, one.function, region, whole_at(one.source, one.site, sources))
        except Refused as refused:
            why = refused if one is place else why or refused
            continue
        if one is not place:  # it rests on what was seen there
            source.rested.clear()
            source.rested.update(one.source.rested)
        return (replace(mend, span=place.request.site.span),)
    assert why is not None
    raise why


def _refuse_raised(place: Place, function: Function, region: Region) -> None:
    """Refuse statements that may raise where somebody may catch it, or a value is stored in front of them."""
    if (why := catching(place.request, place.source, function)) is not None:
        raise Refused(f"`{region.raises}` may raise. {why}")
    if (line := stored_before(place.source, function, region.first, Elsewhere(place.request.sources))) is not None:
        raise Refused(f"`{region.raises}` may raise, and what line {line} stores would be lost.")


def _of_region(
    request: Request, source: Source, function: Function, region: Region, whole: Region | None = None
) -> Mend:
    if whole is not None and in_place(source, function, whole, "") is not None:
        worse = len(_cautions(whole)) > len(_cautions(region)) or whole.raises not in ("", region.raises)
        region = region if worse else whole
    name = source.fresh(f"_{function.name.strip('_')}_operator")
    torch, added = spell(source, "torch.Tensor", source.tree)
    if not torch.endswith(".Tensor"):
        raise Refused("`Tensor` is imported by its own name; import torch.")
    torch = torch.removesuffix(".Tensor")
    is_open = any(ANY_SIZE in one for one in region.like)
    found = supported(source, source.tree, "operator", *(["any_size"] if is_open else []))
    if found is None:
        raise Refused(f"An operator with gradients needs the module `{SUPPORT}`, which the settings keep away.")
    bound = ["self"] if region.methods else []
    annotated = [f"{one.name}: {_spelled(source, one.annotation, torch)}" for one in region.takes]
    results = [f"{torch}.Tensor"] * len(region.like)
    given = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]" if results else "None"
    spot = spot_for(source, function, region.first, region.last)
    limit = line_limit(source) - len(spot.indent)
    mark = _mark(region, found[0], torch)
    change = in_place(source, function, region, mark)
    if change is None:
        ending = [] if region.returns or not region.gives else [f"return {', '.join(region.gives)}"]
        lines = [
            *layout(mark, source.indent, limit),
            *_short_signature(source, name, [*bound, *annotated], limit, given),
            source.indent + _DOC,
            *(source.indent + line if line else "" for line in (*region.lines, *ending)),
        ]
        call = f"{spot.called(name)}({', '.join([*bound, *(one.text for one in region.takes)])})"
        call = f"return {call}" if region.returns else f"{', '.join(region.gives)} = {call}" if region.gives else call
        change = [
            spot.edit(lines, takes_self=bool(bound)), edits.replace(source, region.first, region.last, [call]),
        ]  # fmt: skip
    elif f"{torch}." not in mark:
        added = None
    first, last = source.span(region.first).start.line, source.span(region.last).end.line
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    runs, them = ("runs", "it") if first == last else ("run", "them")
    return Mend(
        rule=RULE.name,
        title=f"Run {where} as one operator in the graph",
        path=source.path,
        span=request.site.span,
        edits=(*((added,) if added is not None else ()), *found[1], *change),
        changes=(
            f"{where.capitalize()} {runs} uncompiled, as one operator that the compiler cannot fuse; "
            f"the backward pass runs {them} again.",
        ),
        assumes=() if region.alike else _assumed(source, region),
        cautions=_cautions(region),
        conditions=region.conditions,
        inductor=True,
        regions=((source.path, Span(source.span(region.first).start, source.span(region.last).end)), *region.called),
    )


def _mark(region: Region, names: Mapping[str, str], torch: str) -> str:
    """The decorator of an operator, on one line."""
    said = [one.replace(ANY_SIZE, f"{names.get('any_size', '')}()") for one in region.like]
    read = {one.id for text in said for one in walk(ast.parse(text)) if isinstance(one, ast.Name)}
    parameters = ", ".join(one.name for one in region.takes if one.name in read)
    like = ", ".join(said).replace("torch.", f"{torch}.")
    like = f"({like})" if len(said) != 1 else like
    flags = [one.name for one in region.takes if one.is_flags]
    marked = f", flags={_tuple_of(flags)}" if flags else ""
    only = ", ".join(f"{_quoted([one])}: {value}" for one, value in region.only)
    marked += f", only={{{only}}}" if only else ""
    marked += f", modules={_tuple_of(region.modules)}" if region.modules else ""
    marked += f", methods={_tuple_of(region.methods)}" if region.methods else ""
    fills = f"{_quoted(region.fills)}, " if region.fills else ""
    return f"@{names['operator']}({fills}like=lambda{f' {parameters}' if parameters else ''}: {like}{marked})"


def _spelled(source: Source, annotation: str, torch: str) -> str:
    """An annotation, where the file names torch so."""
    if annotation == MODULE:
        return spell(source, MODULE, source.tree)[0]
    return annotation.replace("Tensor", f"{torch}.Tensor").replace("torch.d", f"{torch}.d")


def _assumed(source: Source, region: Region) -> tuple[Assumption, ...]:
    """What is said of the results rests on a run: which sizes they follow, and that they have the dtype of what they are like."""
    place = ((source.path, source.span(region.first)),)
    return Assumption("result-shapes", places=place), Assumption("dtype", places=place)


def _cautions(region: Region) -> tuple[str, ...]:
    found = []
    if region.known:
        found.append(f"`{region.known}` may be a tensor that other code holds, too; compiled, it is a copy.")
    if region.shared:
        found.append(region.shared)
    if region.sized:
        found.append(f"`{region.sized}` may have another size for other data; compiled, that is an error.")
    return tuple(found)


def _mend(request: Request, source: Source, function: Function, run: Run) -> Mend:
    name = source.fresh(f"_{function.name.strip('_')}_operator")
    torch, added = spell(source, "torch.Tensor", source.tree)
    if not torch.endswith(".Tensor"):
        raise Refused("`Tensor` is imported by its own name; import torch.")
    torch = torch.removesuffix(".Tensor")
    spot = spot_for(source, function, _together(source, run.statements), run.statements[-1])
    limit = line_limit(source) - len(spot.indent)
    marks, spots = _marks(source, spot, name, torch, run)
    takes = [f"{one.name}: {torch}.Tensor" if one.tensor else f"{one.name}: int" for one in run.takes]
    signed = _signature if source.style.support is None else _short_signature  # torch's own mark reads every annotation
    removed = {one: edits.remove_commented(source, one) for one in run.statements[:-1]}
    body = [line for one in run.statements for line in (*removed.get(one, (None, ()))[1], *lines_of(source, one))]
    lines = [
        *marks,
        *signed(source, name, takes, limit),
        source.indent + _DOC,
        *(source.indent + line if line else "" for line in body),
    ]
    handed = ", ".join(f"{one.name}.detach()" if one.detached else one.name for one in run.takes)
    spots = [*([added] if added is not None else []), *spots]
    spots.append(spot.edit(lines))
    spots += [edit for edit, _ in removed.values()]
    spots.append(edits.replace(source, run.statements[-1], run.statements[-1], [f"{spot.called(name)}({handed})"]))
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


def _together(source: Source, statements: Sequence[ast.stmt]) -> ast.stmt:
    """The first of those statements at the end that stand together."""
    first, *before = reversed(statements)
    for one in before:
        if source.after(one)[0] is not first:
            break
        first = one
    return first


def _marks(source: Source, spot: Spot, name: str, torch: str, run: Run) -> tuple[list[str], list[TextEdit]]:
    """The lines that make a function an operator, and the imports that they need."""
    found = supported(source, source.tree, "operator")
    if found is not None:
        limit = line_limit(source) - len(spot.indent)
        return layout(f"@{found[0]['operator']}({_quoted(run.writes)})", source.indent, limit), found[1]
    label, labelled = qualified(source, spot.called(name).replace(".", "_"))
    lines = [
        f"@{torch}.library.custom_op(",
        f"{source.indent}{label},",
        f"{source.indent}mutates_args={_tuple_of(run.writes)},",
        f"{source.indent}tags=({torch}.Tag.cudagraph_unsafe,),",
        ")",
    ]
    return lines, [labelled] if labelled is not None else []


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{one}"' for one in names)


def _tuple_of(names: Sequence[str]) -> str:
    return f"({_quoted(names)}{',' if len(names) == 1 else ''})"


def _signature(source: Source, name: str, takes: list[str], limit: int, gives: str = "None") -> list[str]:
    """The first line of the operator, or its lines when it is long."""
    line = f"def {name}({', '.join(takes)}) -> {gives}:"
    if len(line) <= limit:
        return [line]
    whole = source.indent + ", ".join(takes)
    inner = [whole] if len(whole) <= limit else [f"{source.indent}{one}," for one in takes]
    return [f"def {name}(", *inner, f") -> {gives}:"]


def _short_signature(source: Source, name: str, takes: list[str], limit: int, gives: str = "None") -> list[str]:
    """The same without the annotations of tensors, where that has fewer lines: the support module knows them."""
    bare = [one.partition(":")[0] if one.endswith(".Tensor") else one for one in takes]
    return min((_signature(source, name, one, limit, gives) for one in (takes, bare)), key=len)


def _places(source: Source, run: Run) -> str:
    first, last = source.span(run.statements[0]).start.line, source.span(run.statements[-1]).end.line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _is_operator(source: Source, function: Function) -> bool:
    marks = ("custom_op", "disable", "operator(")
    return any(mark in source.code(one) for one in function.decorator_list for mark in marks)
