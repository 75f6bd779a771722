"""Say it later: print, logger calls, writes to the standard streams and warnings leave the graph.

What it does
------------
Some messages appear only once anyway (`logger.warning_once`, `warnings.warn`). Where such a message needs only what Python
holds (names, numbers, sizes, settings), it is logged while TorchDynamo traces. Every other message moves to the end. In the
function that TorchDynamo compiles itself, the statement moves behind the computation of the return value. In an inlined
function, in a loop, in a `try`, and in a function with several ends, the mend takes the values where the statement is;
the message appears when the outermost compiled function returns or raises.

Why it costs
------------
A graph cannot print or log. TorchDynamo ends the graph, runs the call in Python and starts another graph; in an inlined
function it does so at every level. In a loop or a `try` the whole function runs uncompiled.

Safety
------
No message is lost, each has the values of its own place, and their order stays; each appears later than before. A
value that changes in place afterwards is copied, and the mend says so. Compilation drops no message, as
`reorderable_logging_functions` and `is_compiling()` guards do. What a message reads, it reads where the statement is. What it
gets by reference (a container of the object, a tensor that a layer may change) appears as it is at the end. Where a call
in between may change it, the mend assumes that it does not. Where a call in between may print or log, the mend assumes that it
does not; a call of a module may, as a hook can be put on it, or another module in its place. It assumes the same where the stream
is the program's own. For a warning it assumes that no filter makes an error of it.

When it is refused
------------------
When the message needs what is gone at the end: the exception that is handled, a stream that is redirected here or around a
call that leads here, a container that changes, the caller's line of a ``stacklevel``. When only another break gives a
value; when the function is a generator; when the outermost compiled function is in a file that GraphMend may not edit. When
the statement is at the end already, and costs no graph there.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import Effect, effect_of, effects_in, statements_in
from graphmend_lsp.mending.lowering.deferral import collect, expressions, is_deferred, unsuited
from graphmend_lsp.mending.lowering.late import assumed
from graphmend_lsp.mending.lowering.tail import Item, at_end, move
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.defer import RULE
from graphmend_lsp.mending.rules.defer.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.defer.once import Once, once
from graphmend_lsp.mending.syntax.break_site import AT_EDGE, Place, is_free
from graphmend_lsp.mending.syntax.outermost import Below, below_wrappers, outermost
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mends of an effect that breaks the graph, best first, or why there is none; empty for other breaks."""
    request = place.request
    site = request.site
    source = place.source
    effect = _effect(source, request)
    if effect is None:
        return ()
    function = source.function(effect.statement)
    if function is None:
        return ()
    answers: list[Mend | Declined] = []
    reasons: list[str] = []
    at_test = not source.span(effect.statement).contains(site.span)
    said = once(source, effect) if not at_test else None
    if isinstance(said, Once):
        warns = (Assumption("warning-filters"),) if effect.kind == "warn" else ()
        answers.append(_mend(request, said.title, said.edits, said.changes, warns))
        if effect.once and said.constant:
            return tuple(answers)
    elif said is not None:
        reasons.append(said)
    outer = outermost(request, source, function)
    moved = _to_end(source, function, effect) if not isinstance(outer, str) and outer.function is function else None
    if isinstance(moved, _AtEnd) and not answers and is_free(site):
        return (Declined(RULE.name, f"{effect.label} already stands at the end of `{function.name}`.{AT_EDGE}"),)
    if isinstance(moved, _Moved):
        answers.append(
            _mend(
                request, f"move {effect.label} to the end of {function.name}", moved.edits, moved.changes, moved.assumes
            )
        )
    elif isinstance(moved, str):
        reasons.append(moved)
    below = below_wrappers(request, source, function)
    wrappers = below.wrappers if isinstance(below, Below) else ()
    if isinstance(below, Below) and not any(True for one in wrappers for _ in effects_in(*one)):
        outer = below.found
    else:
        wrappers = ()  # an effect of theirs would come before this one
    if isinstance(outer, str):
        reasons.append(outer)
    else:
        collected = collect(source, effect, outer.source, outer.function, outer.between, at_test, wrappers)
        if isinstance(collected, str):
            reasons.append(collected)
        else:
            title = f"run {effect.label} after {outer.function.name}"
            answers.append(_mend(request, title, collected.edits, collected.changes, collected.assumes))
    return tuple(answers) or tuple(Declined(RULE.name, reason) for reason in dict.fromkeys(reasons))


@dataclass(frozen=True, slots=True)
class _Moved:
    edits: tuple[TextEdit, ...]
    changes: tuple[str, ...]
    assumes: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class _AtEnd:
    """The effects stand at the end already."""


def _effect(source: Source, request: Request) -> Effect | None:
    """The effect at the break: the statement at its span, or the one effect under the condition at its span."""
    place = source.site(request.site.span)
    if place is None:
        return None
    certain = "GB0291" in (request.site.gb_id, request.site.root_gb_id)
    found = effect_of(source, place.statement, certain)
    if found is not None:
        return found
    if isinstance(place.statement, ast.If) and _only_effects(source, place.statement):
        inside = source.range(place.node)[1] <= source.range(place.statement.test)[1]
        if inside or place.node is place.statement:
            return effect_of(source, place.statement.body[0])
    return None


def _only_effects(source: Source, statement: ast.If) -> bool:
    return all(effect_of(source, one) is not None for one in (*statement.body, *statement.orelse))


def _to_end(source: Source, function: Function, effect: Effect) -> _Moved | _AtEnd | str | None:
    """The move of an effect, and of all that follow it, to the end of its own function."""
    top = _top(source, function, effect.statement)
    item = _item(source, top)
    if item is None:
        return f"{effect.label} stands inside other statements of `{function.name}`."
    items = [item]
    for statement in function.body[function.body.index(top) + 1 :]:
        other = _item(source, statement)
        if other is not None:
            items.append(other)
            continue
        for one in statements_in(statement):
            found = effect_of(source, one)
            if is_deferred(one) or (found is not None and not found.once):
                line = source.span(one).start.line
                return f"Line {line} says something from inside other statements, which would then come first."
    for moving in items:
        for node in walk(moving.statement):
            found = effect_of(source, node)
            problem = unsuited(source, found) if found is not None else None
            if problem:
                return problem
    if at_end(function, items):
        return _AtEnd()
    moved = move(source, function, items)
    if isinstance(moved, str):
        return moved
    changes = [
        f"The text appears at the end of `{function.name}`; when a statement before that raises, it does not appear.",
        *(
            f"`{name}` is copied because it is changed in place later: a grad_fn in the text reads CloneBackward0."
            for name in moved.copied
        ),
    ]
    return _Moved(moved.edits, tuple(changes), _assumed(source, function, items))


def _assumed(source: Source, function: Function, items: list[Item]) -> tuple[Assumption, ...]:
    """What moving statements to the end of their function takes for granted."""
    found: list[Assumption] = []
    own = {id(item.statement) for item in items}
    for item in items:
        behind = function.body[function.body.index(item.statement) + 1 :]
        between = [one for one in behind if id(one) not in own]
        for node in walk(item.statement):
            if (effect := effect_of(source, node)) is not None:
                found += assumed(source, effect, between)
    return tuple(dict.fromkeys(found))


def _top(source: Source, function: Function, statement: ast.stmt) -> ast.stmt:
    """The statement of the function's own block that holds `statement`."""
    one: ast.AST = statement
    while source.parents[one] is not function:
        one = source.parents[one]
    assert isinstance(one, ast.stmt)
    return one


def _item(source: Source, statement: ast.stmt) -> Item | None:
    """A statement of a function's block as something to move: an effect, or an ``if`` around nothing but effects."""
    effect = effect_of(source, statement)
    if effect is not None:
        return Item(statement, expressions(effect))
    if isinstance(statement, ast.If) and _only_effects(source, statement):
        inner = [effect_of(source, one) for one in (*statement.body, *statement.orelse)]
        return Item(
            statement, (statement.test,), tuple(v for one in inner if one is not None for v in expressions(one))
        )
    return None


def _mend(
    request: Request,
    title: str,
    edits: tuple[TextEdit, ...],
    changes: tuple[str, ...],
    assumes: tuple[Assumption, ...],
) -> Mend:
    site = request.site
    return Mend(RULE.name, f"Mend graph break: {title}", site.path, site.span, edits, (), changes, assumes=assumes)
