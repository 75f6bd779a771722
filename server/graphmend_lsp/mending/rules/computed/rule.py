"""Numbers that Python computes from tensors: one operator of the graph computes them, and TorchDynamo captures what it gives.

What it does
------------
A Python expression that only computes a number from tensors (``math.sqrt(x.sum())``, ``sum(x.tolist())``,
``round(x.mean().item(), 2)``, ``int(x.max())``, ``weights[int(x[0])]`` of constants) becomes a function of the file under
``number``, which makes it an operator of the graph and runs it as it stands. What it gives is read with ``.item()``, and the
outermost function gets the decorator of the rule `capture`, so that the number stays in the graph: as a factor, a size, a result.

Why it costs
------------
Python needs the value, so Dynamo ends the graph there. Captured as it is, such an expression is computed in other ways:
``int`` of NaN gives a number, a division by 0 infinity, and ``math.log`` of 0 does not raise.

Safety
------
The operator computes what Python computes, in Python: the same bits, and the same exception where there is one. It is called in
the place of the expression, and takes tensors only, without their gradients, for a number has none. Behind it the number is
a Python number for the program and a symbol in the graph. Proven under eager, aot_eager and inductor.

When it is refused
------------------
When the expression is not known to compute only, from tensors and constants; when it decides a branch or how often a loop
turns; when nothing uses the number; where the decorator may not stand (see `capture`); when the number is computed with
further on, in ways that Python and a graph do not share. A whole number that may have more than 64 bits is a caution, and so is
what the function stores before an expression that may raise.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.python_callers import python_elsewhere
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.facts.stored_before import stored_before
from graphmend_lsp.mending.lowering.passed import cautions_of
from graphmend_lsp.mending.lowering.settings import (
    DATA,
    WAITS,
    decorated,
    has_settings,
    reaches,
    refuse_undecorated,
)
from graphmend_lsp.mending.rules.computed import RULE
from graphmend_lsp.mending.rules.computed.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.computed.reading import Form, Reading, local_names_of
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import add_function, is_builtin, spell
from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.outermost import below_wrappers
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, loaded
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_FLOATING = ("float16", "bfloat16", "float32", "float64")
_DOC = '"""Computed in Python, as one operator of the graph."""'


@dataclass(frozen=True)
class _Found:
    """The expression that becomes an operator, what it gives, and its reading."""

    node: ast.expr
    form: Form
    reading: Reading


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The operator of an expression; empty when the break is about no number that Python computes."""
    source, function = place.source, place.function
    found = _largest(source, place.node)
    if found is None or function is None:
        return ()
    if place.request.site.evidence == "static":
        raise Refused("Which function TorchDynamo compiles is known when the program is run.")
    statement = _used(source, found.node)
    for tensor in found.reading.asked:
        if (words := python_elsewhere(source, tensor)) is not None:
            raise Refused(words)
    _refuse_unseen(found)
    below = below_wrappers(place.request, source, function)
    if isinstance(below, str):
        raise Refused(below)
    outer = below.found
    marked = has_settings(outer, DATA)
    if not marked:
        refuse_undecorated(outer)
    cautions = list(cautions_of(place, outer, frozenset({found.node}), frozenset(walk(found.node))))
    text = render(source, found.node)
    if _may_be_long(found):
        cautions.append(f"`{text}` may have more than 64 bits, where the operator raises.")
    if (stored := stored_before(source, function, statement)) is not None:
        cautions.append(f"Line {stored} stores a value in front of `{text}`, which is lost where that raises.")
    both = ("captures", "number") if not marked and outer.source is source else ("number",)
    spots = [*_edits(source, found, both), *([] if marked else decorated(outer, DATA, *both[1:]))]
    spots.sort(key=lambda one: not one.text.lstrip().startswith(("import ", "from ")))
    return (
        Mend(
            rule=RULE.name,
            title="Compute the number in an operator of the graph",
            path=source.path,
            span=source.span(found.node),
            edits=tuple(dict.fromkeys(spots)),
            changes=(
                f"`{text}` runs uncompiled, as one operator that the compiler cannot fuse.",
                WAITS,
                *([] if marked else [reaches(outer.function.name)]),
            ),
            cautions=tuple(cautions),
            inductor=True,
        ),
    )


def _largest(source: Source, node: ast.AST) -> _Found | None:
    """The largest expression around a break that computes a number, and more than reading it."""
    best: _Found | None = None
    one: ast.AST | None = node.value if isinstance(node, (ast.Expr, ast.Return)) else node
    while isinstance(one, ast.expr):
        reading = Reading(source, Kinds(source, frozenset()))
        try:
            form = reading.form(one)
        except Refused:
            break
        fits = form.kind == "float" or (form.kind in ("int", "number") and not reading.outer)
        if fits and reading.steps and reading.tensors:
            best = _Found(one, form, reading)
        one = source.parents.get(one)
    if best is None or (_is_whole_read(best) and best.form.kind == "int"):
        return None
    return best


def _is_whole_read(found: _Found) -> bool:
    """Whether it is ``int(t)`` of a tensor that surely holds integers, or a flag: nothing is computed, and nothing raises."""
    tensor = next(iter(found.reading.tensors))
    read = isinstance(found.node, ast.Call) and is_builtin(found.reading.source, found.node.func, "int")
    return found.reading.steps == 1 and read and found.reading.scalars.is_whole(tensor)


def _used(source: Source, node: ast.expr) -> ast.stmt:
    """The statement that uses a number.

    Raises:
        Refused: when it is no statement that computes with it: a condition, a loop, or nothing.
    """
    statement = source.statement(node)
    text = render(source, node)
    one: ast.AST = node
    while one is not statement:
        parent = source.parents[one]
        tested = isinstance(parent, (ast.IfExp, ast.If, ast.While, ast.Assert, ast.comprehension))
        if (tested and getattr(parent, "test", None) is one) or isinstance(parent, (ast.BoolOp, ast.comprehension)):
            raise Refused(f"`{text}` decides what runs next, which a captured number cannot.")
        if isinstance(parent, ast.Compare) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)):
            raise Refused(f"`{text}` is compared, and a branch on a captured number breaks the graph.")
        if isinstance(parent, ast.Subscript) and parent.slice is one and Kinds(source).of(parent.value) != "tensor":
            base = render(source, parent.value)
            raise Refused(
                f"`{text}` is an index of `{base}`, which is not known to be a tensor or a table of constants."
            )
        if isinstance(parent, ast.Call) and is_builtin(source, parent.func, "range"):
            raise Refused(f"`{text}` is the number of turns of a loop.")
        if isinstance(parent, (ast.Lambda, ast.JoinedStr, ast.For)):
            raise Refused(f"`{text}` stands where it is not surely used once; give it a statement.")
        one = parent
    if isinstance(statement, ast.Return):
        return statement
    names = {one.id for target in _targets(statement) for one in walk(target) if isinstance(one, ast.Name)}
    function = source.function(node)
    kept = any(isinstance(one, (ast.Subscript, ast.Attribute)) for one in _targets(statement))
    if function is None or statement is None or not (kept or names & loaded_elsewhere(function, statement)):
        raise Refused(f"Nothing uses what `{text}` gives.")
    return statement


def loaded_elsewhere(function: ast.AST, statement: ast.stmt) -> frozenset[str]:
    """The names that a function reads outside of a statement, which it may also read in another turn of a loop."""
    own = {id(one) for one in walk(statement)}
    return frozenset(
        one.id
        for one in walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and id(one) not in own
    )


def _targets(statement: ast.stmt | None) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, (ast.AugAssign, ast.AnnAssign)) else []


def _may_be_long(found: _Found) -> bool:
    """Whether it may be a whole number with more bits than an operator gives: none of a table, no length."""
    node, source, kind = found.node, found.reading.source, found.form.kind
    short = isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and is_builtin(source, node.func, "len"))
    return kind == "int" and not short


def _refuse_unseen(found: _Found) -> None:
    """Refuse a number whose type the dtypes tell, where no run showed that they are floating-point; else note that they were.

    Raises:
        Refused: where a tensor was not seen, or held something else.
    """
    seen = Seen(found.reading.source)
    for tensor, name in found.reading.tensors.items():
        if name not in found.form.follows:
            continue
        fact = seen.of(tensor)
        if fact is None or fact.dtype not in _FLOATING:
            text = render(found.reading.source, tensor)
            raise Refused(f"`{text}` is not known to be floating-point, so the number may be an int.")
        seen.believe(tensor, "a floating-point tensor")


def _edits(source: Source, found: _Found, imports: tuple[str, ...]) -> list[TextEdit]:
    torch, added = spell(source, "torch.Tensor", source.tree)
    if not torch.endswith(".Tensor"):
        raise Refused("`Tensor` is imported by its own name; import torch.")
    torch = torch.removesuffix(".Tensor")
    names = list(dict.fromkeys(found.reading.tensors.values()))
    _refuse_locals(source, found, names)
    given = {one: tensor for tensor, one in reversed(found.reading.tensors.items())}
    name = source.fresh(f"_{_word(found.node)}_operator")
    imported = supported(source, source.tree, *imports)
    if imported is not None:
        lines, spots = _by_support(source, found, (name, torch, imported[0]["number"])), imported[1]
        call = f"{name}({', '.join(render(source, given[one]) for one in names)})"
    else:
        lines, spots = _own(source, found, name, torch)
        call = f"{name}({', '.join(_detached(source, found.reading, given[one]) for one in names)}).item()"
    spots = [*([added] if added is not None else []), *spots]
    return [*spots, add_function(source, lines), edits.rewrite(source, found.node, call)]


def _by_support(source: Source, found: _Found, words: tuple[str, str, str]) -> list[str]:
    """The operator as a function under the support module's decorator."""
    name, torch, number = words
    names = list(dict.fromkeys(found.reading.tensors.values()))
    kind = "int" if found.form.kind == "int" else "float"
    told = [f'"{one}"' for one in names if one in found.form.follows] if found.form.kind == "number" else [kind]
    takes, indent, limit = ", ".join(f"{one}: {torch}.Tensor" for one in names), source.indent, line_limit(source)
    head = layout(f"def {name}({takes}) -> {kind}:", indent, limit)
    body = layout(f"{indent}return {render(source, found.node, found.reading.exchange)}", indent, limit)
    return [f"@{number}({', '.join(told)})", *head, *body]


def _own(source: Source, found: _Found, name: str, torch: str) -> tuple[list[str], list[TextEdit]]:
    """The operator written out, in a file that cannot import the support module, and the imports that it needs."""
    names, indent = list(dict.fromkeys(found.reading.tensors.values())), source.indent
    body = render(source, found.node, found.reading.exchange)
    label, labelled = qualified(source, name)
    dtype = f"{torch}.{'int64' if found.form.kind == 'int' else 'float64'}"
    if found.form.kind == "number":
        asked = " or ".join(f"{one}.is_floating_point()" for one in names if one in found.form.follows)
        dtype = f"{torch}.float64 if {asked} else {torch}.int64"
    lines = [
        f"@{torch}.library.custom_op(",
        f"{indent}{label},",
        f"{indent}mutates_args=(),",
        f"{indent}tags=({torch}.Tag.cudagraph_unsafe,),",
        ")",
        f"def {name}({', '.join(f'{one}: {torch}.Tensor' for one in names)}) -> {torch}.Tensor:",
        indent + _DOC,
        *layout(f'{indent}return {torch}.tensor({body}, dtype={dtype}, device="cpu")', indent, line_limit(source)),
        "",
        "",
        f"@{name}.register_fake",
        f"def {source.fresh(f'{name}_fake')}({', '.join(names)}):",
        f'{indent}return {torch}.empty((), dtype={dtype}, device="cpu")',
    ]
    return lines, [labelled] if labelled is not None else []


def _detached(source: Source, reading: Reading, tensor: ast.expr) -> str:
    text = render(source, tensor)
    return text if reading.scalars.is_whole(tensor) else f"{operand(text)}.detach()"


def _refuse_locals(source: Source, found: _Found, names: list[str]) -> None:
    """Refuse where the text would mean something else outside of its function."""
    new = ast.parse(render(source, found.node, found.reading.exchange), mode="eval")
    left = loaded(new) - set(names)
    if other := sorted(left & local_names_of(source, found.node)):
        raise Refused(f"`{other[0]}` is a name of the function, which the operator does not know.")
    if "\n" in render(source, found.node):
        raise Refused(f"`{render(source, found.node)}` cannot be written on one line of its own.")


def _word(node: ast.expr) -> str:
    """A word for what an expression computes, from the call that stands outermost."""
    called = [one.func for one in walk(node) if isinstance(one, ast.Call)]
    names = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "item") for one in called]
    return next((one for one in names if one not in ("item", "tolist")), "number")
