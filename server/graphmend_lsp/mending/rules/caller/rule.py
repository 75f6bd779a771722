"""A number that a called function reads from its argument is read by its caller, where it breaks one graph and not two.

What it does
------------
A function that is inlined begins with ``n = expression of an argument.item()`` (or ``int(...)``, ``float(...)``, ``bool(...)``).
It gets a parameter ``n=None`` and reads the number itself only where that is None; the caller reads it before the
call and hands it on.

Why it costs
------------
A break in a function that is inlined ends the graph of every function around it, too: the caller's before the call and
behind it, the function's own before the read and behind it. In the caller it is one break and two graphs. The
break itself stays, where a number decides which modules run.

Safety
------
The same expression of the same tensor is computed, a little earlier: what comes before the read in the function only
gives names to values, and nothing that is evaluated for the call may have an effect. Calls without the number work as before.
A function that takes the place of the called one (an override, a submodule that someone exchanges, a replaced attribute)
would get an argument that it does not know. So the mend is *unsafe*, with that assumption named, unless the function is local
or private, each use in its file is a plain call, and no other file of the project has its name. An override in sight is
refused. A hook that exchanges a submodule's arguments does not change the number; where the file has such hooks the mend is
refused, too.

When it is refused
------------------
When the number also depends on ``self`` or on what the function computes; when the text does not show which function is
called (decorated, a loop's variable, a class of another file, an override); when the argument has no name; when the
call stands in a loop, a ``try``, a ``with`` or behind something with an effect; with ``*args`` or ``**kwargs``.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.lowering.number_text import read_at
from graphmend_lsp.mending.rules.caller import RULE
from graphmend_lsp.mending.rules.caller.call import Call, call_of
from graphmend_lsp.mending.rules.caller.edits import with_keyword, with_parameter
from graphmend_lsp.mending.rules.caller.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.caller.read import read_in
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, render
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a number that an inlined function reads first, or why there is none; empty for other breaks."""
    request = place.request
    source = place.source
    found = read_at(source, place.node, place.gb_ids)
    statement = source.parents.get(found.call) if found is not None else None
    frames = [frame for frame in request.site.chain if frame.kind == "code"]
    if found is None or not isinstance(statement, ast.Assign) or statement.value is not found.call or len(frames) < 2:
        return ()
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return ()
    call = call_of(request, source, statement, frames[-2])
    return (_mend(source, statement, statement.targets[0].id, found.call, call),)


def _mend(source: Source, statement: ast.Assign, name: str, number: ast.expr, call: Call) -> Mend:
    read = read_in(source, statement, name, call)
    taken = {one.id for one in walk(call.caller) if isinstance(one, ast.Name)} | {
        one.arg for one in walk(call.caller) if isinstance(one, ast.arg)
    }
    given = source.fresh(name) if name in taken else name
    limit = line_limit(source)
    base = source.indentation(call.statement)
    line = layout(f"{base}{given} = {read}", source.indent, limit)
    own = source.indentation(statement) + source.indent
    inner = layout(own + render(source, statement), source.indent, limit)
    callee, caller = _qualified(source, call.callee), _qualified(source, call.caller)
    changes = [
        f"`{callee}` takes the number as `{name}` and reads it where none is given; an override must take it, too.",
        f"The read still breaks the graph, once, in `{caller}`.",
    ]
    if call.is_module:
        changes.append(
            f"A hook of `{render(source, call.node.func)}` that exchanges its arguments does not change `{name}`."
        )
    return Mend(
        rule=RULE.name,
        title=f"Read the number in {caller}, before the call",
        path=source.path,
        span=source.span(number),
        edits=(
            with_parameter(source, call.callee, f"{name}=None"),
            edits.replace(
                source,
                statement,
                statement,
                [f"if {name} is None:", *(one.removeprefix(source.indentation(statement)) for one in inner)],
            ),
            edits.insert_before(source, call.statement, [one.removeprefix(base) for one in line]),
            with_keyword(source, call.node, f"{name}={given}"),
        ),
        changes=tuple(changes),
    )


def _qualified(source: Source, function: Function) -> str:
    home = source.parents[function]
    return f"{home.name}.{function.name}" if isinstance(home, ast.ClassDef) else function.name
