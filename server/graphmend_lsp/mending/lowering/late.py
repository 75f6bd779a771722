"""What is taken for granted where a text is said later than it stands: that what it reads stays, and that nothing speaks before.

What the text reads is taken where it stood; a container, a module or a tensor is taken by reference, and shows what it holds
when it is said. Knows nothing of moving.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from graphmend_lsp.mending.facts.between import Between, is_own, values_of
from graphmend_lsp.mending.facts.effects import Effect, is_static
from graphmend_lsp.mending.facts.later import CONTAINERS, changed_in, root
from graphmend_lsp.mending.lowering.capture import reads
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Function, Source, local_names
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Span

_INERT = frozenset(("shape", "dtype", "device", "ndim", "layout", "requires_grad", "__name__", "__class__"))


def assumed(
    source: Source,
    effect: Effect,
    between: Sequence[ast.stmt],
    *,
    collected: bool = False,
    outer: Sequence[tuple[Source, Function]] = (),
) -> tuple[Assumption, ...]:
    """What saying an effect behind the statements `between` takes for granted.

    `collected`: other texts of the file wait with it, in their order. `outer` are the functions that go on behind its own.
    """
    found: list[Assumption] = []
    given = (*effect.call.args, *(keyword.value for keyword in effect.call.keywords if keyword.arg != "file"))
    for value in dict.fromkeys(one for node in given for one in by_reference(source, node)):
        if (at := _changing(source, value, between)) is not None:
            words = f"`{source.code(at)}` does not change `{source.code(value)}`, which is shown later"
            found.append(Assumption("late-reading", words, _places(source, value, at)))
        elif isinstance(value, ast.Name) and any(changed_in(function) for _, function in outer):
            words = f"nothing changes `{value.id}` in place, which is shown later"
            found.append(Assumption("late-reading", words, _places(source, value)))
    if (stream := _stream(source, effect)) is not None:
        words = f"nothing else uses `{source.code(stream)}` before"
        found.append(Assumption("message-order", words, _places(source, stream)))
    found += kept_for_itself(source, effect.call, between)
    spoken = Between(source).first(list(between), "foreign speech" if collected else "speech")
    if spoken is not None:
        words = f"`{source.code(spoken)}` says nothing"
        found.append(Assumption("message-order", words, _places(source, spoken)))
    return tuple(dict.fromkeys(found))


def _places(source: Source, *nodes: ast.AST) -> tuple[tuple[str, Span], ...]:
    return tuple((source.path, source.span(one)) for one in nodes)


def by_reference(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes of ``self`` whose values a text takes by reference; known numbers and texts are none."""
    if isinstance(node, ast.Starred):
        yield from by_reference(source, node.value)
    elif isinstance(node, (ast.Constant, ast.Lambda)) or (is_static(source, node) and not _is_held(source, node)):
        return
    elif isinstance(node, ast.Name):
        function = source.function(node)
        if function is not None and node.id in local_names(function) and node.id != "self":
            yield node
    elif isinstance(node, ast.Attribute):
        if is_own(node) and node.attr not in _INERT:
            yield node
    elif reads(source, node) or isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.List, ast.Dict)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from by_reference(source, child)


def _is_held(source: Source, node: ast.expr) -> bool:
    """Whether a node is an attribute of ``self`` that the class gives anything but a constant."""
    owner = source.owner(node)
    if not (isinstance(node, ast.Attribute) and is_own(node)) or owner is None:
        return False
    return any(not isinstance(value, ast.Constant) for value in values_of(owner, node.attr))


def _changing(source: Source, value: ast.expr, between: Sequence[ast.stmt]) -> ast.AST | None:
    """The first call between that may change a value in place: of a method of the class, or one that it is given to."""
    judged = Between(source)
    for call in (one for node in between for one in walk(node) if isinstance(one, ast.Call)):
        if isinstance(value, ast.Name):
            handed = (*call.args, *(keyword.value for keyword in call.keywords))
            names = {one.id for part in handed for one in walk(part) if isinstance(one, ast.Name)}
            if value.id not in names:
                continue
        elif not is_own(call.func) or ast.dump(call.func) == ast.dump(value):
            continue
        if isinstance(value, ast.Name) and judged.acts(call, "change"):
            return call
        if not isinstance(value, ast.Name) and judged.is_method(call) and judged.acts(call, "trace"):
            return call
    return None


def kept_for_itself(source: Source, call: ast.Call, statements: Sequence[ast.stmt]) -> tuple[Assumption, ...]:
    """That no handler or stream looks at what the statements store of the file itself: a global, what a container holds.

    Statements that ran before the text run behind it, or the other way round. What a module stores in itself is not meant.
    """
    function = source.function(call)
    stored = None if function is None else _stored_outside(source, function, statements)
    if stored is None:
        return ()
    words = f"nothing that shows the text reads `{source.code(stored)}`"
    return (Assumption("message-order", words, _places(source, stored)),)


def before(source: Source, call: ast.Call) -> list[ast.stmt]:
    """The statements of the function that may run in front of what a call says: what stands there, and all of a loop around it.

    What they store is stored behind the graph, so behind a text that the graph itself says.
    """
    function, site = source.function(call), source.site(source.span(call))
    if function is None or site is None:
        return []
    end = max((source.range(one)[1] for one in site.loops), default=source.range(call)[0])
    return [one for one in function.body if source.range(one)[0] < end]


def _stored_outside(source: Source, function: Function, statements: Sequence[ast.stmt]) -> ast.expr | None:
    outside = {name for one in walk(function) if isinstance(one, ast.Global) for name in one.names}
    local = local_names(function) - outside
    for node in (part for one in statements for part in walk(one)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in outside:
            return node
        stored = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
        grows = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CONTAINERS
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)) and (stored or grows):
            name = root(node)
            called = node.func if isinstance(node, ast.Call) else None  # ``np.append`` changes nothing
            if name is not None and name not in local and (called is None or dotted(source, called) is None):
                return node
    return None


def _stream(source: Source, effect: Effect) -> ast.expr | None:
    """The stream that a print writes to, where that is another one than a standard stream."""
    given = [keyword.value for keyword in effect.call.keywords if keyword.arg == "file"]
    if effect.kind != "print" or not given or isinstance(given[0], ast.Constant):
        return None
    return None if dotted(source, given[0]) in ("sys.stdout", "sys.stderr") else given[0]
