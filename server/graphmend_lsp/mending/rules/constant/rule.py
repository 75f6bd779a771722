"""What is computed from constants is computed once: at the top of the file, or while Dynamo traces.

What it does
------------
A function that Dynamo cannot trace, and whose result follows from its arguments (``zlib.crc32``, ``json.dumps``, ``hashlib.md5``,
``base64.b64encode``, ...), is called with constants: its result becomes a constant of the file. Constants are literals,
names that the file sets once to a literal, dtypes, and what such functions make of them. Where a function of text gets its text
from the call (``zlib.crc32(self.name.encode())``), the call moves to a function of the file under
``torch.compiler.assume_constant_result``, which Dynamo evaluates while it traces. Arrays that follow from a whole number
(``np.polynomial.legendre.leggauss(n)``, ``np.hanning(n)``) are computed while Dynamo traces, too: as a tuple of floats, of which
the program makes a new array in each call; so are numbers (``int(np.ceil(np.log1p(n)))``).

Why it costs
------------
Dynamo traces no functions that are written in C and no modules that it skips: it ends the graph there, calls the function,
and starts again.

Safety
------
Only functions that read no clock, disk, environment, setting or random number are in the rule's table, and only results that
nothing can change in place become constants. Dynamo guards the text or number that such a function is evaluated with: with
another it traces again and gets the other result. Where the function raises or warns for a number, uncompiled code calls it, and
does the same.

When it is refused
------------------
When an argument may be another one in the next call (a name that is set more than once, a size, an item of a list), when the
result can be changed in place (a list, a dictionary), and when the function is imported inside of another one.
"""

from __future__ import annotations

import ast
import re

from graphmend_lsp.mending.rules.constant import RULE, counted_examples, examples
from graphmend_lsp.mending.rules.constant.counted import counted
from graphmend_lsp.mending.rules.constant.expression import Reading
from graphmend_lsp.mending.rules.constant.pure import BUILTINS, FUNCTIONS, OF_TYPES
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, render
from graphmend_lsp.mending.syntax.imports import add_function, add_value, dotted, is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

EXAMPLES = (*examples.EXAMPLES, *counted_examples.EXAMPLES)
REFUSALS = (*examples.REFUSALS, *counted_examples.REFUSALS)
_MARK = "torch.compiler.assume_constant_result"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a call with constants; empty when the break is no call of a function that is known to be pure."""
    source = place.source
    if (made := counted(place)) is not None:
        return (made,)
    call = place.node.value if isinstance(place.node, ast.Expr) else place.node
    if place.function is None or not isinstance(call, ast.Call) or not _is_pure(source, call):
        return ()
    try:
        value, reading = _value(place, call)
    except Refused:
        if (dotted(source, call.func) or "numpy.").startswith(("numpy.", "torch.", "math.")):
            return ()  # what breaks there is most often a tensor, of which other rules know more
        raise
    if reading.given:
        return (_traced(source, call, value, reading),)
    name = source.fresh("_" + _name(source, value, call).upper())
    line = f"{name} = {render(source, value, reading.local)}"
    return (
        Mend(
            rule=RULE.name,
            title=f"Make {render(source, call.func)}(...) a constant",
            path=source.path,
            span=source.span(call),
            edits=(_at_top(source, line, reading), edits.rewrite(source, value, name)),
        ),
    )


def _is_pure(source: Source, call: ast.Call) -> bool:
    """Whether a call is of a function in the tables; of a builtin, only one that Dynamo does not trace anyway."""
    name = dotted(source, call.func)
    if name is not None:
        return name in FUNCTIONS
    written = source.code(call.func)
    if written in OF_TYPES:
        return True
    if any(is_builtin(source, call.func, builtin) for builtin in BUILTINS):
        return True
    return (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, (ast.Constant, ast.Call))
        and (isinstance(call.func.value, ast.Constant) or _is_pure(source, call.func.value))
    )


def _value(place: Place, call: ast.Call) -> tuple[ast.expr, Reading]:
    """The smallest expression around the call that gives what nothing can change.

    Raises:
        Refused: when there is none.
    """
    source = place.source
    best: ast.expr = call
    node: ast.AST = call
    seen = "object"
    while isinstance(node, ast.expr):
        reading = Reading(source, place.request.sources)
        try:
            result = reading.result(node)
        except Refused:
            if node is call:
                raise
            break
        if result == "value":
            return node, reading
        best, seen = node, result
        node = source.parents[node]
        if isinstance(node, ast.Attribute):  # of which a method is called
            node = source.parents[node]
    text = render(source, best)
    how = "can be changed in place" if seen == "mutable" else "is no number or text"
    raise Refused(f"What `{text}` gives {how}; make it once, outside the compiled function.")


def _traced(source: Source, call: ast.Call, value: ast.expr, reading: Reading) -> Mend:
    if len(reading.given) != 1:
        raise Refused(f"`{render(source, value)}` needs more than one text of the call.")
    given = reading.given[0]
    name = source.fresh("_" + _name(source, value, call))
    parameter = "text" if not reading.local else source.fresh("text")
    body = render(source, value, {**reading.local, given: parameter})
    found = supported(source, source.tree, "while_tracing")
    if found is not None:
        line = f"{name} = {found[0]['while_tracing']}(lambda {parameter}: {body})"
        lines, spots = layout(line, source.indent, line_limit(source)), found[1]
        helper = add_value(source, lines)
    else:
        mark, added = spell(source, _MARK, source.tree)
        spots = [added] if added else []
        lines = [
            f"@{mark}",
            f"def {name}({parameter}):",
            f'{source.indent}"""Computed while Dynamo traces, again for another text."""',
            f"{source.indent}return {body}",
        ]
        helper = add_function(source, lines)
    if any(source.range(one)[1] > source.text.offset(helper.span.start) for one in reading.anchors):
        helper = edits.insert_after(
            source, max(reading.anchors, key=lambda one: source.range(one)[1]), ["", "", *lines]
        )
    new = [helper, edits.rewrite(source, value, f"{name}({render(source, given)})")]
    return Mend(
        rule=RULE.name,
        title=f"Evaluate {render(source, call.func)}(...) while tracing",
        path=source.path,
        span=source.span(call),
        edits=(*spots, *new),
    )


def _at_top(source: Source, line: str, reading: Reading) -> TextEdit:
    """The edit that sets a constant behind the imports, or behind the last statement that it needs."""
    edit = add_value(source, [line])
    start = source.text.offset(edit.span.start)
    last = max(reading.anchors, key=lambda one: source.range(one)[1], default=None)
    if last is None or source.range(last)[1] <= start:
        return edit
    return edits.insert_after(source, last, [line])


def _name(source: Source, value: ast.expr, call: ast.Call) -> str:
    """What the value is called: as the variable that it is assigned to, or as the function."""
    statement = source.parents.get(value)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id.strip("_") or "value"
    found = re.findall(r"\w+", render(source, call.func))
    return {"dumps": "json", "loads": "json"}.get(found[-1], found[-1]) if found else "value"
