"""Putting effects off until the outermost compiled function is over: for inlined functions, loops, `try`, several
returns.

Each effect becomes ``defer(lambda value=value: effect)``; the outermost function is wrapped so that what was put
off runs when it returns or raises, outside of what Dynamo compiles. Without that wrapper `defer` runs the effect at
once, so other callers see what they saw. Measured: one graph, every text in order, also when an exception passes. Both
functions are the support module's; where a file cannot import it, or has its own from an earlier mend, its own. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.between import Between
from graphmend_lsp.mending.facts.effects import Effect, blames_caller, effects_in, is_static, own_nodes
from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.facts.reach import called_within
from graphmend_lsp.mending.lowering.capture import Captured, Replacement, capture
from graphmend_lsp.mending.lowering.deferral_inline import (
    DEFER,
    WRAP,
    has_helpers,
    helpers,
    imports_helpers,
    name_taken,
)
from graphmend_lsp.mending.lowering.in_graph import written
from graphmend_lsp.mending.lowering.late import assumed
from graphmend_lsp.mending.syntax.edits import comments, one_line
from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import is_supported, supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, TextEdit

_REDIRECTS = ("redirect_", "catch_warnings", "capture", "suppress", "patch")


@dataclass(frozen=True, slots=True)
class Collected:
    """The edits, and what they change in behaviour."""

    edits: tuple[TextEdit, ...]
    changes: tuple[str, ...]
    assumes: tuple[Assumption, ...] = ()


def collect(
    source: Source,
    effect: Effect,
    outer_source: Source,
    outer: Function,
    between: Sequence[tuple[Source, Function]],
    at_test: bool = False,
    wrappers: Sequence[tuple[Source, Function]] = (),
) -> Collected | str:
    """The mend that defers `effect` to the end of `outer`; or why that cannot be done.

    `between` are the functions of the call chain from the outermost to the effect's own, these two left out. `wrappers` are
    those of the decorators of `outer`, which are over, too, before the effect runs.
    `at_test`: the break is the condition around the effect, which then must wait too.
    """
    if isinstance(outer, ast.AsyncFunctionDef) or any(
        isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in own_nodes(outer)
    ):
        return f"`{outer.name}` is a generator or a coroutine, which has no single end."
    from_support = not any(
        one.style.support is None or has_helpers(one) or imports_helpers(one) for one in (source, outer_source)
    )
    for one in (source, outer_source):
        problem = None if from_support else name_taken(one)
        if problem:
            return problem
    inner = inner_of(source, effect)
    deferred = _deferred(source, inner, effect, from_support, at_test)
    if isinstance(deferred, str):
        return deferred
    edits, copied = deferred
    told: list[str] = []
    waiting: list[Assumption] = []
    for other_source, other in _others(source, effect, outer_source, outer, between):
        also = _deferred(other_source, inner_of(other_source, other), other, from_support)
        if isinstance(also, str):
            line = other_source.span(other.call).start.line
            told.append(f"`{other.label}` in line {line} stays where it is and now comes earlier than this one.")
            continue
        edits, copied = [*edits, *also[0]], [*copied, *also[1]]
        waiting += _assumed_behind(other_source, other)
    uses_defer = any(edit.path == outer_source.path for edit in edits)
    wrapped = (
        _wrapped_by_support(source, outer_source, outer, uses_defer, above=bool(wrappers))
        if from_support
        else _wrapped(source, outer_source, outer, uses_defer, above=bool(wrappers))
    )
    if isinstance(wrapped, str):
        return wrapped
    changes = _changes(outer, effect, copied, from_support)
    around = (*wrappers, (outer_source, outer), *between) if outer is not inner or wrappers else ()
    said = (*_assumed_behind(source, effect, around), *waiting, *_passed(around), *_warned(effect))
    return Collected((*edits, *wrapped), (*changes, *dict.fromkeys(told)), tuple(dict.fromkeys(said)))


def _changes(outer: Function, effect: Effect, copied: Sequence[str], from_support: bool) -> list[str]:
    """What is other than before, in words."""
    changes = [f"The text appears when `{outer.name}` returns or raises, not in the middle of it."]
    if effect.kind == "log":
        named = "" if from_support else ", and `<lambda>` as their function name"
        changes.append(f"Log records carry the time of that moment{named}.")
    changes += [
        f"`{name}` is copied because it is changed in place later: a grad_fn in the text reads CloneBackward0."
        for name in dict.fromkeys(copied)
    ]
    if not from_support:
        changes.append(f"When several threads run `{outer.name}` at the same time their texts are kept in one list.")
    return changes


def _assumed_behind(
    source: Source, effect: Effect, around: Sequence[tuple[Source, Function]] = ()
) -> tuple[Assumption, ...]:
    return assumed(source, effect, _behind(source, inner_of(source, effect), effect), collected=True, outer=around)


def _passed(around: Sequence[tuple[Source, Function]]) -> tuple[Assumption, ...]:
    """That what the functions around call before they end says nothing, the hooks of a module that is called among it."""
    for source, function in around:
        if (spoken := Between(source).first(list(function.body), "foreign speech")) is not None:
            words = f"`{source.code(spoken)}` says nothing"
            return (Assumption("message-order", words, ((source.path, source.span(spoken)),)),)
    return ()


def _behind(source: Source, function: Function, effect: Effect) -> list[ast.stmt]:
    """The statements of a function that may run behind an effect: all of a loop around it, and what stands behind."""
    site = source.site(source.span(effect.call))
    start = min((source.range(one)[0] for one in site.loops), default=None) if site is not None else None
    begin = source.range(effect.statement)[1] if start is None else start
    return [one for one in function.body if source.range(one)[1] > begin and one is not effect.statement]


def _warned(effect: Effect) -> tuple[Assumption, ...]:
    return (Assumption("warning-filters"),) if effect.kind == "warn" else ()


def inner_of(source: Source, effect: Effect) -> Function:
    """The function an effect stands in."""
    function = source.function(effect.statement)
    assert function is not None
    return function


def is_deferred(statement: ast.AST) -> bool:
    """Whether a statement is an effect that an earlier mend put off."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id in (DEFER, "defer", "graphmend_defer")
        and len(statement.value.args) == 1
        and isinstance(statement.value.args[0], ast.Lambda)
    )


def expressions(effect: Effect) -> tuple[ast.expr, ...]:
    """The expressions of an effect's call whose values it needs."""
    receiver = (effect.receiver,) if effect.receiver is not None else ()
    return (*receiver, *effect.call.args, *(keyword.value for keyword in effect.call.keywords))


def unsuited(source: Source, effect: Effect) -> str | None:
    """Why an effect cannot run at another moment, or None."""
    site = source.site(source.span(effect.call))
    if effect.label.endswith(".exception") or any(
        keyword.arg in ("exc_info", "stack_info") for keyword in effect.call.keywords
    ):
        return "The message reports the exception or the stack of its moment, which is gone at the end."
    names = {one.id for value in expressions(effect) for one in walk(value) if isinstance(one, ast.Name)}
    for block in site.withs if site else ():
        for item in getattr(block, "items", ()):
            code = source.code(item.context_expr)
            bound = (
                {one.id for one in walk(item.optional_vars) if isinstance(one, ast.Name)}
                if item.optional_vars
                else set()
            )
            if any(word in code for word in _REDIRECTS) or bound & names:
                return f"The text belongs to `with {code}`, which is over at the end."
    function = source.function(effect.statement)
    around = called_within(source, function, _REDIRECTS) if function is not None else None
    return None if around is None else f"A call in line {around} stands in a `with` that its text may belong to."


def _deferred(
    source: Source, function: Function, effect: Effect, from_support: bool, at_test: bool = False
) -> tuple[list[TextEdit], list[str]] | str:
    problem = unsuited(source, effect) or blames_caller(effect)
    if problem:
        return problem
    site = source.site(source.span(effect.call))
    looped = site is not None and bool(site.loops)
    coming = later(source, function, None if looped else effect.statement)
    holder = condition_of(source, effect)
    if holder is not None:
        whole = capture(source, function, (holder.test,), coming, keep_inert=False, conditional=expressions(effect))
        if not isinstance(whole, str):
            return _put_off(source, effect, whole, holder, from_support)
        if at_test:
            return whole
    if at_test:
        return "The condition is on a tensor and guards more than one statement; only at the end can it wait."
    captured = capture(source, function, expressions(effect), coming, keep_inert=False)
    return captured if isinstance(captured, str) else _put_off(source, effect, captured, None, from_support)


def condition_of(source: Source, effect: Effect) -> ast.If | None:
    """The ``if`` on a tensor that holds nothing but the effect, when it can be put off with it."""
    holder = source.parents.get(effect.statement)
    if (
        isinstance(holder, ast.If)
        and holder.body == [effect.statement]
        and not holder.orelse
        and not is_static(source, holder.test)
        and source.code(holder).startswith("if")
        and not comments(source, *source.range(holder))
    ):
        return holder
    return None


def _put_off(
    source: Source, effect: Effect, captured: Captured, holder: ast.If | None, from_support: bool
) -> tuple[list[TextEdit], list[str]]:
    """The edits that defer an effect, together with the condition around it when there is a `holder`."""
    head = ", ".join(f"{one.name}={one.code}" for one in captured.captures)
    found = supported(source, effect.call, "defer") if from_support else None
    defer = found[0]["defer"] if found is not None else DEFER
    edits = as_lambda(source, effect, captured, holder, f"{defer}(lambda {head}".rstrip() + ": ", ")")
    return edits, [source.code(one.node) for one in captured.captures if one.copied]


def as_lambda(
    source: Source, effect: Effect, captured: Captured, holder: ast.If | None, opening: str, closing: str
) -> list[TextEdit]:
    """The edits that make an effect the body of a lambda, which stands between the texts `opening` and `closing`.

    With a `holder` the lambda takes the place of that ``if``, and has its condition.
    """
    start, end = source.range(effect.call)
    pieces = sorted((one for one in captured.replacements if one.start >= start), key=lambda one: one.start)
    if not pieces or pieces[0].start > start:
        pieces.insert(0, Replacement(start, start + 1, source.text.value[start]))
    first = start
    if holder is not None:
        first = source.range(holder)[0]
        closing = f" if {written(source, holder.test, captured)} else None{closing}"
    pieces[0] = Replacement(min(first, pieces[0].start), pieces[0].end, opening + pieces[0].text)
    pieces.append(Replacement(end, end, closing))
    return [_edit(source, one.start, one.end, one.text) for one in _laid_out(source, effect, holder, pieces)]


def _laid_out(
    source: Source, effect: Effect, holder: ast.If | None, pieces: list[Replacement]
) -> Sequence[Replacement]:
    """The pieces; one with line breaks instead, where the statement would be a line that is too long."""
    statement = effect.statement if holder is None else holder
    start, end = pieces[0].start, pieces[-1].end
    if not source.starts_line(statement) or start != source.range(statement)[0] or end != source.range(statement)[1]:
        return pieces
    parts, at = [], start
    for one in pieces:
        parts += [source.text.value[at : one.start], one.text]
        at = one.end
    base, text = source.indentation(statement), "".join(parts)
    limit, joined = line_limit(source), one_line(text)
    if all(len(base + line) <= limit for line in text.splitlines()) or comments(source, start, end) or "\n" in joined:
        return pieces
    lines = layout(base + joined, source.indent, limit)
    return [Replacement(start, end, source.newline.join(lines).removeprefix(base))]


def _others(
    source: Source, effect: Effect, outer_source: Source, outer: Function, between: Sequence[tuple[Source, Function]]
) -> Iterator[tuple[Source, Effect]]:
    """The other effects that run while `outer` does, as far as the files tell; those said once are left alone."""
    seen: set[int] = {id(effect.statement)}
    functions: dict[int, tuple[Source, Function]] = {}
    for one_source, function in ((outer_source, outer), *between, (source, inner_of(source, effect))):
        for reached in _reached(one_source, function):
            functions[id(reached)] = (one_source, reached)
    for one_source, function in functions.values():
        if one_source is not source and one_source is not outer_source:
            continue
        for other in effects_in(one_source, function):
            if id(other.statement) not in seen and not other.once:
                seen.add(id(other.statement))
                yield one_source, other


def _reached(source: Source, function: Function) -> list[Function]:
    """The functions of the file that a function may call, by name, itself first."""
    classes = {one.name: one for one in source.tree.body if isinstance(one, ast.ClassDef)}
    plain = {one.name: one for one in source.tree.body if isinstance(one, ast.FunctionDef)}
    found: list[Function] = []
    queue: list[Function] = [function]
    while queue:
        one = queue.pop(0)
        if one in found:
            continue
        found.append(one)
        methods = _methods(source.owner(one))
        if "__init__" in methods:
            queue.append(methods["__init__"])
        for node in own_nodes(one):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in plain:
                    queue.append(plain[node.func.id])
                made = _methods(classes.get(node.func.id))
                queue += [made[name] for name in ("__init__", "__call__", "forward") if name in made]
            elif isinstance(node, ast.Attribute) and source.code(node) == f"self.{node.attr}" and node.attr in methods:
                queue.append(methods[node.attr])
    return [one for one in found if one.name != "__init__"]


def _methods(owner: ast.ClassDef | None) -> dict[str, Function]:
    return {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)} if owner is not None else {}


def _wrapped_by_support(
    source: Source, outer_source: Source, outer: Function, uses_defer: bool, above: bool
) -> list[TextEdit] | str:
    """The edits that import the functions of the support module, and put the wrapper on the outermost function."""
    is_one = outer_source is source
    found = supported(outer_source, outer_source.tree, *(["defer"] if uses_defer or is_one else []), "runs_deferred")
    other = ({}, []) if is_one else supported(source, source.tree, "defer")
    assert found is not None
    assert other is not None
    edits = [*found[1], *other[1]]
    if not any(is_supported(outer_source, one, "runs_deferred") for one in outer.decorator_list):
        edits.append(_decorate(outer_source, outer, found[0]["runs_deferred"], above))
    return edits


def _wrapped(
    source: Source, outer_source: Source, outer: Function, uses_defer: bool, above: bool
) -> list[TextEdit] | str:
    """The edits that add the helpers where they are missing and put the wrapper on the outermost function."""
    edits = helpers(source, outer_source, uses_defer, above)
    if not isinstance(edits, str) and not any(outer_source.code(one) == WRAP for one in outer.decorator_list):
        edits.append(_decorate(outer_source, outer, WRAP, above))
    return edits


def _decorate(source: Source, function: Function, wrap: str, above: bool) -> TextEdit:
    """The wrapper directly on the function, or above its decorators: when asked to, or when one of them compiles it."""
    compiled = (
        function.decorator_list[:1]
        if above
        else [
            one
            for one in function.decorator_list
            if dotted(source, one.func if isinstance(one, ast.Call) else one) == "torch.compile"
        ]
    )
    place: ast.AST = compiled[0] if compiled else function
    start, _ = source.range(place)
    first = source.text.value[start]
    mark = "" if compiled else "@"
    again = "@" if compiled else ""
    text = f"{mark}{wrap}{source.newline}{source.indentation(place)}{again}{first}"
    return _edit(source, start, start + 1, text)


def _edit(source: Source, start: int, end: int, text: str) -> TextEdit:
    return TextEdit(source.path, source.between(start, end), text)
