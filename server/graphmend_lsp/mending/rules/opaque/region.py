"""Any statements that take tensors and give tensors whose shapes follow from what they take: as few as hold the break.

Pure reading of `Source` and of the facts of a run, which say what kinds and shapes values have. What the statements may do
is judged in `effects`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.outlined import Run, unresumed
from graphmend_lsp.mending.rules.opaque.carried import carried, changed, overlapping
from graphmend_lsp.mending.rules.opaque.changing import refuse_changed
from graphmend_lsp.mending.rules.opaque.dead import Dead, dead_in
from graphmend_lsp.mending.rules.opaque.decided import asks_none, conditions, deciding, fixing, refuse_deciding
from graphmend_lsp.mending.rules.opaque.effects import Judge
from graphmend_lsp.mending.rules.opaque.filled import made_as
from graphmend_lsp.mending.rules.opaque.grown import fact_behind, grown, statements_of
from graphmend_lsp.mending.rules.opaque.held import known_elsewhere, returned, returns_of
from graphmend_lsp.mending.rules.opaque.light import computes_little
from graphmend_lsp.mending.rules.opaque.like import ANY_SIZE, like, rows_as
from graphmend_lsp.mending.rules.opaque.methods import own_method
from graphmend_lsp.mending.rules.opaque.modules import MODULE
from graphmend_lsp.mending.rules.opaque.sizes import feeding, follows_data
from graphmend_lsp.mending.rules.opaque.taken import (
    NUMBERS,
    STRUCTURE,
    Handed,
    annotation_of,
    first_load,
    taken,
)
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import dedented
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source
from graphmend_lsp.model import Span
from graphmend_lsp.values import TensorFact, ValueFact


@dataclass(frozen=True, slots=True)
class Region:
    """The statements from `first` to `last` of one block; `lines` are their text without indentation.

    `gives` are the names that they bind, empty when they return. `like` are texts of tensors like the results.
    `known` is a result that may be a tensor that there is already, where that may be seen; "" for none.
    `sized` is what may give other sizes for other data. `raises` is a statement that may raise; "" for none. `alike` says that
    the results surely look as `like` says. `only` are flags and texts that the operator takes with the value of the run alone,
    since they decide in the statements, with the texts of these values. `fills` are names of what it changes in place, of which
    `shared` says what may be a part of it; "" for nothing. `methods` are the names of those of ``self`` that they call,
    `modules` the names of the classes of the modules that they call, but for torch's. `called` are the places of the functions.
    """

    first: ast.stmt
    last: ast.stmt
    lines: tuple[str, ...]
    takes: tuple[Handed, ...]
    gives: tuple[str, ...]
    like: tuple[str, ...]
    known: str
    conditions: tuple[tuple[str, Span], ...]
    returns: bool
    sized: str
    raises: str
    alike: bool
    only: tuple[tuple[str, str], ...]
    fills: tuple[str, ...] = ()
    shared: str = ""
    methods: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    called: tuple[tuple[str, Span], ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether a result has a size that only values decide."""
        return any(ANY_SIZE in one for one in self.like)


def _closed(source: Source, place: Site, sources: Mapping[str, str]) -> Region | None:
    """The same with the statements behind that make results of known sizes of what values size; None where none do soon."""
    for more in range(1, _SOON + 1):
        rested = dict(source.rested)
        with suppress(Refused):
            found = _region(source, place, sources, carry=False, more=more)
            if not (found.is_open or found.sized or found.known):
                return found
        source.rested.clear()
        source.rested.update(rested)
    return None


def whole_at(source: Source, place: Site, sources: Mapping[str, str]) -> Region | None:
    """All statements of the function that a break stands in as an operator, where those in front of the fewest compute little."""
    rested = dict(source.rested)
    with suppress(Refused):
        return _region(source, place, sources, carry=False, whole=True)
    source.rested.clear()
    source.rested.update(rested)
    return None


_SOON = 8


class _FillsNothingError(Refused):
    """No tensor is there to be filled as a copy."""


class _AllAliveError(Refused):
    """No flag keeps a statement from running."""


def region_at(source: Source, place: Site, sources: Mapping[str, str]) -> Region:
    """The statements around a break as an operator; `sources` are files that may hold what they call.

    A tensor that they fill is made in the operator, too; else, or where a result would have another size for other data, the
    operator fills a copy.

    Raises:
        Refused: when they cannot be one.
    """
    try:
        found = _region(source, place, sources, carry=False)
    except Refused as problem:
        try:
            return _region(source, place, sources, carry=True)
        except _FillsNothingError:
            raise problem from None
    if found.is_open and (closed := _closed(source, place, sources)) is not None:
        return closed
    if found.sized or found.is_open:
        with suppress(Refused):
            copied = _region(source, place, sources, carry=True)
            return found if copied.is_open and not found.sized else copied
    return found


@dataclass(frozen=True, slots=True)
class _Judged:
    """Statements that may be an operator: `filled` are names of tensors that they fill as copies, `fills` of those in place."""

    run: Run
    inside: Sequence[ast.stmt]
    filled: tuple[str, ...]
    fills: tuple[str, ...]
    judge: Judge
    dead: Dead


def _judged(
    source: Source, place: Site, sources: Mapping[str, str], carry: bool, whole: bool, more: int, alive: bool
) -> _Judged:
    function = place.function
    assert function is not None
    holder = unresumed(source, place)
    if returns_of(source, function, [holder]):  # the operator returns in its place, so it goes to the function's end
        around = [holder, *(one for one in source.ancestors(holder) if isinstance(one, ast.stmt))]
        holder = around[around.index(function) - 1]
    block = source.block(holder)
    at = block.index(holder)
    run, first, last = grown(source, function, block, at, carry=carry, more=more)
    if whole and block is function.body:
        first = computes_little(source, block[:first])
        run = statements_of(source, function, block, first, last)
    if any(isinstance(one, ast.Try) for one in source.ancestors(run.first)):
        raise Refused("The statements stand in a `try`, and an operator raises outside of it.")
    inside = block[first : last + 1]
    filled = carried(source, inside) if carry and not run.returns else ()
    if carry and not filled:
        raise _FillsNothingError("The statements fill no tensor that the function has made.")
    fills = tuple(
        one for one in changed(source, inside) if annotation_of(source, first_load(source, run, one)) == "Tensor"
    )
    dead = Dead() if alive else dead_in(source, inside)
    if not (alive or dead.tests):
        raise _AllAliveError("Every statement may run.")
    judge = Judge(source, function, inside, sources=sources, carried=(*filled, *fills), skipped=dead.nodes)
    judge.refuse()
    run = replace(run, gives=tuple(one for one in run.gives if one not in fills))
    if not (run.gives or run.returns or filled or fills):
        raise Refused("Code after the statements reads no tensor that they give.")
    return _Judged(run, inside, filled, fills, judge, dead)


def _region(
    source: Source, place: Site, sources: Mapping[str, str], *, carry: bool, whole: bool = False, more: int = 0
) -> Region:
    """The statements as an operator; where that is refused, without those that a flag, or None, kept from running."""
    rested = dict(source.rested)
    try:
        return _region_of(source, place, _judged(source, place, sources, carry, whole, more, alive=True))
    except _FillsNothingError:
        raise
    except Refused as problem:
        source.rested.clear()
        source.rested.update(rested)
        try:
            return _region_of(source, place, _judged(source, place, sources, carry, whole, more, alive=False))
        except _AllAliveError:
            source.rested.clear()
            source.rested.update(rested)
            raise problem from None


def _region_of(source: Source, place: Site, judged: _Judged) -> Region:
    function = place.function
    run, inside, filled, fills = judged.run, judged.inside, judged.filled, judged.fills
    assert function is not None
    takes, exchange = taken(source, run)
    refuse_changed(source, function, [one.text for one in takes if one.annotation == MODULE])
    for one in takes:
        if one.name in (*filled, *fills) and one.annotation != "Tensor":
            raise Refused(f"`{one.name}` is not known to be a tensor, which is what an operator fills.")
    takes = tuple(replace(one, text=one.name) if one.name in fills else one for one in takes)
    shared = overlapping(source, [one for one in takes if one.name in fills], takes, inside)
    known = known_elsewhere(source, function, run, inside)
    run = replace(run, gives=tuple(dict.fromkeys((*run.gives, *filled))))
    results = _results(source, function, run, inside)
    facts = {one.name: one.fact for one in takes if one.fact is not None}
    tensors = {one.name for one in takes if one.annotation == "Tensor"}
    numbers = {one.name for one in takes if one.annotation in NUMBERS}
    exact = _exact(source, function, inside, results, tensors, numbers)
    exact |= {one: one for one in filled}
    alike = all(exact.values())
    sized = "" if alike else _sized(source, results, facts, inside)
    opened = {text for text, _ in results if sized and follows_data(source, feeding(inside, text)) is not None}
    said = tuple(exact[one[0]] or like(source, facts, one, inside, is_open=one[0] in opened) for one in results)
    guessed = [
        text
        for (text, fact), one in zip(results, said, strict=True)
        if not (exact[text] or ANY_SIZE in one or (fact is not None and fact.rank == 0))
        if text in opened or all(each.annotation != MODULE for each in takes)  # what modules give has sizes of theirs
    ]
    tests = deciding(source, inside) if alike else conditions(inside)
    fixed = {} if alike else fixing(source, inside, {one.text: one for one in takes if one.constant is not None})
    settled = {one: _settled(takes, flag, value) for one, flag, value in judged.dead.tests}
    settled |= {one: [] for one in conditions(inside) if one not in settled and asks_none(source, one, takes, inside)}
    only = {**{one: [(each.name, repr(each.constant)) for each in fixed[one]] for one in fixed}, **settled}
    left = [one for one in ([] if alike else conditions(inside)) if one not in settled]
    refuse_deciding(source, left, [one for one in takes if one.annotation == STRUCTURE])
    return Region(
        run.first,
        run.last,
        (*(f"{one} = {one}.clone()" for one in filled), *_lines(source, run, exchange)),
        takes,
        run.gives,
        said,
        known,
        (*((source.path, source.span(one)) for one in tests if one not in only), *judged.judge.tests),
        run.returns,
        (guessed[0] if opened else sized) if guessed and sized else "",
        next(iter(judged.judge.raises), ""),
        alike,
        tuple(sorted({one for each in only.values() for one in each})),
        fills,
        shared,
        tuple(dict.fromkeys(_full_name(source, one) for one in exchange if _is_method(source, one))),
        tuple(dict.fromkeys(judged.judge.modules)),
        tuple(dict.fromkeys(judged.judge.called)),
    )


def _exact(
    source: Source,
    function: Function,
    inside: Sequence[ast.stmt],
    results: Sequence[tuple[str, ValueFact | None]],
    tensors: Collection[str],
    numbers: Collection[str],
) -> dict[str, str | None]:
    """The text of a tensor that surely is like each result; None where only a run shows what it is like."""
    if len(returns_of(source, function, inside)) > 1:
        return {text: None for text, _ in results}
    return {
        text: made_as(source, inside, text, tensors, numbers) or rows_as(source, inside, text, tensors)
        for text, _ in results
    }


def _is_method(source: Source, node: ast.AST) -> bool:
    return isinstance(node, ast.expr) and own_method(source, node) is not None


def _full_name(source: Source, node: ast.AST) -> str:
    """The name of a method, with that of its class."""
    home, name = source.owner(node), node.attr if isinstance(node, ast.Attribute) else ""
    return f"{home.name}.{name}" if home is not None else name


def _settled(takes: Sequence[Handed], flag: str, value: str) -> list[tuple[str, str]]:
    """The parameter that stands for a flag, with the value of which the operator rests."""
    found = [(one.name, value) for one in takes if flag in (one.text, one.name)]
    if not found:
        raise Refused(f"`{flag}` is not what the operator takes.")
    return found[:1]


def _sized(
    source: Source,
    results: Sequence[tuple[str, ValueFact | None]],
    taken: Mapping[str, TensorFact],
    statements: Sequence[ast.stmt],
) -> str:
    """What may give results of other sizes for other data; "" for nothing."""
    for text, fact in results:
        sizes = (fact.tensor.shape or ()) if fact is not None and fact.tensor is not None else ()
        known = {None, *(size for one in taken.values() for size in one.shape or ())}
        if not known.issuperset(sizes):
            return text
    if all(fact is not None and fact.rank == 0 for _, fact in results):
        return ""
    found = follows_data(source, statements)
    return source.code(found) if found is not None else ""


def _results(
    source: Source, function: Function, run: Run, statements: Sequence[ast.stmt]
) -> list[tuple[str, ValueFact | None]]:
    """The results with what was seen of them: of names behind the statements, of what is returned there."""
    if not run.returns:
        return [(name, fact_behind(source, run, name)) for name in run.gives]
    parts = [returned(one) for one in returns_of(source, function, statements)]
    if not all(parts):
        raise Refused("The statements return nothing.")
    if len({len(one) for one in parts}) > 1:
        raise Refused("The statements return different numbers of values in different places.")
    for value in (value for one in parts for value in one):
        if Kinds(source).of(value) == "python":
            raise Refused(f"The statements return `{source.code(value)}` in one place; an operator gives tensors only.")
    found: list[tuple[str, ValueFact | None]] = []
    for at, last in enumerate(parts[-1]):
        facts = [fact for one in parts if (fact := Seen(source).of(one[at])) is not None]
        found.append((source.code(last), reduce(ValueFact.joined, facts) if facts else None))
    return found


def _lines(source: Source, run: Run, exchange: dict[ast.AST, str]) -> tuple[str, ...]:
    if not exchange:
        return run.lines
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    piece = source.text.value[begin:end]
    for node in sorted(exchange, key=lambda one: -source.range(one)[0]):
        start, stop = source.range(node)
        piece = piece[: start - begin] + exchange[node] + piece[stop - begin :]
    return dedented(piece, edits.block_indentation(source, run.first))
