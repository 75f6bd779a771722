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
from graphmend_lsp.mending.lowering.outlined import Run, run_of, unresumed
from graphmend_lsp.mending.rules.opaque.carried import carried, changed, overlapping, unsized
from graphmend_lsp.mending.rules.opaque.containers import binds_container, fills_container
from graphmend_lsp.mending.rules.opaque.decided import conditions, deciding, fixing, refuse_deciding
from graphmend_lsp.mending.rules.opaque.effects import Judge
from graphmend_lsp.mending.rules.opaque.filled import made_as, made_in_front
from graphmend_lsp.mending.rules.opaque.held import known_elsewhere, marked, returned, returns_of
from graphmend_lsp.mending.rules.opaque.light import computes_little
from graphmend_lsp.mending.rules.opaque.like import ANY_SIZE, like
from graphmend_lsp.mending.rules.opaque.sizes import feeding, follows_data, is_sized_by_data
from graphmend_lsp.mending.rules.opaque.taken import (
    NUMBERS,
    STRUCTURE,
    Handed,
    annotation_of,
    first_load,
    is_array,
    is_object,
    taken,
)
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.endings import sets, surely_leaves
from graphmend_lsp.mending.syntax.formatting import dedented, first_line
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Span
from graphmend_lsp.values import TensorFact, ValueFact

_HISTORY = frozenset(
    ("grad", "backward", "register_hook", "requires_grad_", "retain_grad", "requires_grad", "is_leaf", "grad_fn")
)


@dataclass(frozen=True, slots=True)
class Region:
    """The statements from `first` to `last` of one block; `lines` are their text without indentation.

    `gives` are the names that they bind, empty when they return. `like` are texts of tensors like the results.
    `known` is a result that may be a tensor that there is already, where that may be seen; "" for none.
    `sized` is what may give other sizes for other data. `raises` is a statement that may raise; "" for none. `alike` says that
    the results surely look as `like` says. `only` are flags and texts that the operator takes with the value of the run alone,
    since they decide in the statements, with the texts of these values. `fills` are names of what it changes in place, of which
    `shared` says what may be a part of it; "" for nothing.
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


def _judged(source: Source, place: Site, sources: Mapping[str, str], carry: bool, whole: bool, more: int) -> _Judged:
    function = place.function
    assert function is not None
    holder = unresumed(source, place)
    if returns_of(source, function, [holder]):  # the operator returns in its place, so it goes to the function's end
        around = [holder, *(one for one in source.ancestors(holder) if isinstance(one, ast.stmt))]
        holder = around[around.index(function) - 1]
    block = source.block(holder)
    at = block.index(holder)
    run, first, last = _grown(source, function, block, at, carry=carry, more=more)
    if whole and block is function.body:
        first = computes_little(source, block[:first])
        run = _run(source, function, block, first, last)
    if any(isinstance(one, ast.Try) for one in source.ancestors(run.first)):
        raise Refused("The statements stand in a `try`, and an operator raises outside of it.")
    inside = block[first : last + 1]
    filled = carried(source, inside) if carry and not run.returns else ()
    if carry and not filled:
        raise _FillsNothingError("The statements fill no tensor that the function has made.")
    fills = tuple(
        one for one in changed(source, inside) if annotation_of(source, first_load(source, run, one)) == "Tensor"
    )
    judge = Judge(source, function, inside, sources=sources, carried=(*filled, *fills))
    judge.refuse()
    run = replace(run, gives=tuple(one for one in run.gives if one not in fills))
    if not (run.gives or run.returns or filled or fills):
        raise Refused("Code after the statements reads no tensor that they give.")
    return _Judged(run, inside, filled, fills, judge)


def _region(
    source: Source, place: Site, sources: Mapping[str, str], *, carry: bool, whole: bool = False, more: int = 0
) -> Region:
    judged, function = _judged(source, place, sources, carry, whole, more), place.function
    run, inside, filled, fills = judged.run, judged.inside, judged.filled, judged.fills
    assert function is not None
    takes, exchange = taken(source, run)
    for one in takes:
        if one.name in (*filled, *fills) and one.annotation != "Tensor":
            raise Refused(f"`{one.name}` is not known to be a tensor, which is what an operator fills.")
    takes = tuple(replace(one, text=one.name) if one.name in fills else one for one in takes)
    shared = overlapping(source, [one for one in takes if one.name in fills], takes, inside[0])
    known = known_elsewhere(source, function, run, inside)
    run = replace(run, gives=tuple(dict.fromkeys((*run.gives, *filled))))
    results = _results(source, function, run, inside)
    facts = {one.name: one.fact for one in takes if one.fact is not None}
    tensors = {one.name for one in takes if one.annotation == "Tensor"}
    numbers = {one.name for one in takes if one.annotation in NUMBERS}
    once = len(returns_of(source, function, inside)) < 2
    exact = {text: made_as(source, inside, text, tensors, numbers) if once else None for text, _ in results}
    exact |= {one: one for one in filled}
    alike = all(exact.values())
    sized = "" if alike else _sized(source, results, facts, inside)
    opened = {text for text, _ in results if sized and follows_data(source, feeding(inside, text)) is not None}
    said = tuple(exact[one[0]] or like(source, facts, one, inside, is_open=one[0] in opened) for one in results)
    guessed = [
        text
        for (text, fact), one in zip(results, said, strict=True)
        if not (exact[text] or ANY_SIZE in one or (fact is not None and fact.rank == 0))
    ]
    tests = deciding(source, inside) if alike else conditions(inside)
    only = {} if alike else fixing(source, inside, {one.text: one for one in takes if one.constant is not None})
    refuse_deciding(source, [] if alike else conditions(inside), [one for one in takes if one.annotation == STRUCTURE])
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
        tuple(sorted({(one.name, repr(one.constant)) for each in only.values() for one in each})),
        fills,
        shared,
    )


def _grown(
    source: Source, function: Function, block: Sequence[ast.stmt], at: int, *, carry: bool, more: int
) -> tuple[Run, int, int]:
    """The statements that an operator needs of the one at an index and `more` behind; the indices of the first and the last."""
    first, last = at, min(at + more, len(block) - 1)
    for _ in range(2 * len(block) + 1):
        run = _run(source, function, block, first, last)
        other = unsized(source, block[first : last + 1]) if carry else frozenset[str]()
        if (behind := _needed_behind(source, run, block, last, other)) is not None:
            last = behind
        elif (before := _needed_before(source, run, block, first, last)) is not None:
            first = before
        elif last + 1 < len(block) and returns_of(source, function, block[first : last + 1]):
            last = len(block) - 1
        elif not carry and (made := made_in_front(source, block, first, last, run.takes)) is not None:
            first = made
        elif last + 1 < len(block) and _goes_on(run, block[last + 1]):
            last += 1
        else:
            break
    return run, first, last


def _goes_on(run: Run, statement: ast.stmt) -> bool:
    """Whether a statement behind a run would break the graph for the size of what it makes of the run's results."""
    plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    return plain and bool(loaded(statement) & {*run.gives}) and is_sized_by_data(statement)


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


def _run(source: Source, function: Function, block: Sequence[ast.stmt], first: int, last: int) -> Run:
    run = list(block[first : last + 1])
    leaves = returns_of(source, function, run)
    if leaves and last + 1 == len(block) and not (block is function.body and surely_leaves(source, run[-1])):
        raise Refused(
            f"`{first_line(source, leaves[0])}` leaves the statements; an operator gives its values at its end."
        )
    return run_of(source, function, run, returns=bool(leaves), closed=True)


def _needed_behind(
    source: Source, run: Run, block: Sequence[ast.stmt], last: int, unsized: Collection[str]
) -> int | None:
    """The last statement behind a run that reads what it binds and what is no tensor that an operator can give."""
    found = last
    for name in run.gives:
        why = "has another size for other data" if name in unsized else _is_no_result(source, run, name)
        if why is None:
            continue
        anew = next((at for at in range(last + 1, len(block)) if name in sets(source, block[at])), len(block))
        behind = range(last + 1, min(anew + 1, len(block)))
        readers = [at for at in behind if name in loaded(block[at]) | _augmented(block[at])]
        if not readers:
            raise Refused(f"`{name}` {why}, and code after the statements reads it.")
        found = max(found, *readers)
    return found if found > last else None


def _needed_before(source: Source, run: Run, block: Sequence[ast.stmt], first: int, last: int) -> int | None:
    """The statement in front of a run that makes what an operator cannot take, or a container that the statements fill."""
    found = first
    for name in run.takes:
        begun = [at for at in range(first) if name in assigned(block[at])]
        if begun and binds_container(source, block[begun[-1]]) and fills_container(block[first : last + 1], name):
            found = min(found, begun[-1])
            continue
        made = [at for at in range(first) if name in assigned(block[at])]
        fact = Seen(source).of(first_load(source, run, name)) if made else None
        if fact is not None and is_array(fact):  # the tensor that it is made of is what an operator is like
            found = min(found, made[-1])
        if is_object(source, run, name) or annotation_of(source, first_load(source, run, name)) is not None:
            continue
        if not made:
            raise Refused(f"`{name}` is not known to be a tensor or a number, which is what an operator takes.")
        found = min(found, made[-1])
    return found if found < first else None


def _is_no_result(source: Source, run: Run, name: str) -> str | None:
    """Why a name's value cannot be what an operator gives, in words; None when it can."""
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    function = source.function(run.first)
    behind = [
        one
        for one in (walk(function) if function is not None else ())
        if isinstance(one, ast.Name) and one.id == name and source.range(one)[0] >= end
    ]
    for one in behind:
        parent = source.parents.get(one)
        asked = isinstance(parent, ast.Attribute) and parent.attr in _HISTORY
        call = next((each for each in source.ancestors(one) if isinstance(each, ast.Call)), None)
        if asked or (call is not None and source.code(call.func).endswith("autograd.grad")):
            return "is asked for its gradient"
    if any(begin <= source.range(one)[0] < end for one in marked(source, run, name)):
        return "is made to ask for its gradient"
    fact = _fact(source, run, name)
    if fact is not None and not fact.is_tensor:
        return "is no tensor"
    if fact is None and Kinds(source).of(behind[0] if behind else run.first) != "tensor":
        return "is not known to be a tensor"
    return None


def _fact(source: Source, run: Run, name: str) -> ValueFact | None:
    """What a run saw of a name where it is first read behind the statements."""
    seen, end = Seen(source), source.range(run.last)[1]
    function = source.function(run.first)
    names = [one for one in (walk(function) if function is not None else ()) if isinstance(one, ast.Name)]
    mine = [one for one in names if one.id == name and isinstance(one.ctx, ast.Load) and source.range(one)[0] >= end]
    return next((fact for one in sorted(mine, key=source.range) if (fact := seen.of(one)) is not None), None)


def _results(
    source: Source, function: Function, run: Run, statements: Sequence[ast.stmt]
) -> list[tuple[str, ValueFact | None]]:
    """The results with what was seen of them: of names behind the statements, of what is returned there."""
    if not run.returns:
        return [(name, _fact(source, run, name)) for name in run.gives]
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


def _augmented(statement: ast.stmt) -> frozenset[str]:
    return frozenset(
        one.target.id for one in walk(statement) if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
    )
