"""Calls that have nothing to do with tensors are made first: at the start of the compiled function they cut nothing.

What it does
------------
A call that Dynamo cannot trace and that needs nothing the function computes (``random.random()``, ``np.random.rand()``,
``torch.manual_seed(0)``, ``os.path.exists(path)``, ``gc.collect()``) moves to the first line of the function, or of the
statements that need nothing either, and its value keeps its name.

Why it costs
------------
Dynamo cannot trace the call. In the middle of the function it cuts the graph in two; in a loop, a ``try`` or a ``with`` all
of the function is left to Python. At the start there is nothing yet to cut.

Safety
------
The order of random numbers of each generator is kept: nothing that comes before the call may draw from it. The call
is made once in every call of the function, as before, and what raises before it now raises after it.

When it is refused
------------------
When the call stands under a condition or in a loop, reads what the function computes, or draws from a generator that statements
before it may use; for clocks, which would measure something else; in functions that are inlined; and when the
call stands at the start already.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.calls import Kind, kind_of, may_draw, needs
from graphmend_lsp.mending.lowering.tail import leaves
from graphmend_lsp.mending.rules.hoist import RULE
from graphmend_lsp.mending.rules.hoist.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import AT_EDGE, Place, is_free
from graphmend_lsp.mending.syntax.formatting import first_line, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.outermost import outermost
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a call that is made too late; empty when the break is no such call."""
    request = place.request
    source = place.source
    call = place.node.value if isinstance(place.node, ast.Expr) else place.node
    if place.function is None or not isinstance(call, ast.Call):
        return ()
    kind = kind_of(source, call)
    if kind is None:
        return ()
    if kind == "clock":
        raise Refused(
            f"`{render(source, call)}` reads a clock, and elsewhere it would measure something else; time the compiled "
            "call from outside."
        )
    outer = outermost(request, source, place.function)
    if isinstance(outer, str):
        raise Refused(outer)
    if outer.function is not place.function:
        raise Refused(f"`{place.function.name}` is inlined, so its start is in the middle of a graph.")
    return (_hoisted(place, place.function, call, kind),)


def _hoisted(place: Place, function: Function, call: ast.Call, kind: Kind) -> Mend:
    source = place.source
    text = render(source, call)
    statement = source.statement(call)
    assert statement is not None
    top = _top(source, function, statement)
    first = _first(function, source)
    if first is None or source.range(first)[0] >= source.range(top)[0] or _is_simple_start(source, function, top):
        raise Refused(
            f"`{text}` already stands at the start of `{function.name}`.{AT_EDGE * is_free(place.request.site)}"
        )
    before = function.body[function.body.index(first) : function.body.index(top)]
    if (name := needs(source, function, call)) is not None:
        raise Refused(f"`{text}` needs `{name}`, which is not known at the start of `{function.name}`.")
    for one in before:
        if leaving := leaves(one):
            raise Refused(f"Line {source.span(leaving).start.line} may leave `{function.name}` before `{text}`.")
    for one in (*before, *_around(source, top, statement)):
        if drawing := may_draw(source, one, kind, call):
            raise Refused(f"`{render(source, drawing)}` comes before it and may use the same generator.")
    changes = ("What raises before the call now raises after it.",)
    return Mend(
        rule=RULE.name,
        title=f"Call {dotted(source, call.func) or render(source, call.func)} at the start of {function.name}",
        path=source.path,
        span=source.span(call),
        edits=tuple(_edits(source, function, statement, top, first, call)),
        changes=changes,
    )


def _edits(
    source: Source, function: Function, statement: ast.stmt, top: ast.stmt, first: ast.stmt, call: ast.Call
) -> list[TextEdit]:
    alone = isinstance(statement, ast.Expr) and statement.value is call
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    named = isinstance(target, ast.Name) and isinstance(statement, ast.Assign) and statement.value is call
    noted = bool(
        edits.comments(source, source.range(statement)[0], edits.end_of_line(source, source.range(statement)[1]))
    )
    if (
        statement is top
        and not noted
        and (alone or (named and not _is_used_before(source, function, target, statement)))
    ):
        lines = [render(source, statement)]
        return [edits.insert_before(source, first, lines), edits.remove(source, statement)]
    name = source.fresh(_name(source, call))
    moved = edits.remove(source, statement) if alone else edits.rewrite(source, call, name)
    line = render(source, call) if alone else f"{name} = {render(source, call)}"
    return [edits.insert_before(source, first, [line]), moved]


def _is_used_before(source: Source, function: Function, target: ast.expr | None, statement: ast.stmt) -> bool:
    """Whether a name may hold something else in front of a statement."""
    if not isinstance(target, ast.Name) or target.id in parameters(function):
        return True
    end = source.range(statement)[0]
    return any(
        isinstance(one, ast.Name) and one.id == target.id and source.range(one)[0] < end for one in walk(function)
    )


def _name(source: Source, call: ast.Call) -> str:
    last = (dotted(source, call.func) or render(source, call.func)).rpartition(".")[2]
    return {"random": "drawn", "rand": "drawn", "randint": "drawn", "choice": "chosen", "exists": "found"}.get(
        last, "drawn"
    )


def _top(source: Source, function: Function, statement: ast.stmt) -> ast.stmt:
    """The statement of the function's own block around a statement that always runs.

    Raises:
        Refused: when it runs under a condition, or more than once.
    """
    one: ast.AST = statement
    while source.parents[one] is not function:
        parent = source.parents[one]
        runs = isinstance(parent, (ast.With, ast.Try)) and one in parent.body
        if not runs:
            raise Refused(f"The call stands inside `{first_line(source, parent)}` and does not always run once.")
        one = parent
    assert isinstance(one, ast.stmt)
    return one


def _first(function: Function, source: Source) -> ast.stmt | None:
    """The first statement that computes: behind the docstring and calls that are there already."""
    for one in function.body:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            continue
        value = one.value if isinstance(one, (ast.Expr, ast.Assign)) else None
        if isinstance(value, ast.Call) and kind_of(source, value) is not None:
            continue
        return one
    return None


def _is_simple_start(source: Source, function: Function, top: ast.stmt) -> bool:
    """Whether nothing in front of a statement computes: only names and constants are set."""
    before = function.body[: function.body.index(top)]
    return all(
        isinstance(one, ast.Expr) or not any(isinstance(node, (ast.Call, ast.BinOp)) for node in walk(one))
        for one in before
        if not (isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and kind_of(source, one.value))
    ) and not (assigned(top) & loaded(top) if hasattr(top, "body") else False)


def _around(source: Source, top: ast.stmt, statement: ast.stmt) -> list[ast.stmt]:
    """The statements in front of one inside the block statements around it."""
    found: list[ast.stmt] = []
    one: ast.AST = statement
    while one is not top:
        if isinstance(one, ast.stmt):
            block = source.block(one)
            found += block[: block.index(one)]
        one = source.parents[one]
    return found
