"""Questions about distinct values: what `any`, `all`, `max` or `min` says of `torch.unique(t)`, it says of `t`.

What it does
------------
``torch.any(torch.unique(t) > 1)`` becomes ``torch.any(t > 1)``, also where the distinct values have a name. In a `raise`, whose
message shows the distinct values, `torch.unique(t)` is called right there: that only runs when the check fails.

Why it costs
------------
How many distinct values there are depends on data, and a graph has fixed shapes: TorchDynamo ends the graph there. The values
are sorted, too, which the question does not need.

Safety
------
Whether any or all elements pass a test that looks at each element by itself does not depend on how often an element is there,
nor on the order; neither does the largest. GraphMend's table of operators says which look at each element by itself; those that
tell 0.0 from -0.0, of which `torch.unique` keeps one, are left out. The result is a comparison or a flag, without a gradient.

When it is refused
------------------
Where the number of distinct values, their order, how often each is there, or where each stands is asked; where the tensor, or its
name, changes in between.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.mending.facts.bindings import operator_called, value_at
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.rules.distinct import RULE
from graphmend_lsp.mending.rules.distinct.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)
_TELL_ZEROS = frozenset(("signbit", "copysign", "nextafter"))
"""Elementwise operators that tell 0.0 from -0.0, of which `torch.unique` keeps one."""
_LARGEST = frozenset(("max", "min", "amax", "amin"))
_PLAIN = {"sorted": (True, False), "dim": (None,), "return_inverse": (False,), "return_counts": (False,)}
_POSITIONS = ("sorted", "return_inverse", "return_counts", "dim")


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of distinct values that only such a question is asked of; empty when the break is something else."""
    source, node = place.source, place.node
    tensor = _of_which(source, node) if isinstance(node, ast.Call) else None
    if tensor is None or not isinstance(node, ast.Call) or place.function is None:
        return ()
    statement = place.site.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if isinstance(statement, ast.Assign) and statement.value is node and isinstance(target, ast.Name):
        made = _named(source, place.function, statement, target.id, node, tensor)
    else:
        _require_asked(source, node, None)
        made = (edits.rewrite(source, node, operand(render(source, tensor))),)
    title = f"Ask all of `{render(source, tensor)}`, not only distinct values"
    return (Mend(rule=RULE.name, title=title, path=source.path, span=source.span(node), edits=made),)


def _of_which(source: Source, call: ast.Call) -> ast.expr | None:
    """The tensor whose distinct values a call gives, and nothing else; None for another call."""
    function = call.func
    name = dotted(source, function)
    arguments = list(call.args)
    if name in ("torch.unique", "torch.unique_consecutive"):
        last = name.rpartition(".")[2]
        tensor = arguments.pop(0) if arguments else None
    elif isinstance(function, ast.Attribute) and name is None and function.attr in ("unique", "unique_consecutive"):
        last, tensor = function.attr, function.value
    else:
        return None
    positions = _POSITIONS if last == "unique" else _POSITIONS[1:]
    given = dict(zip(positions, arguments, strict=False)) | {one.arg or "**": one.value for one in call.keywords}
    plain = all(isinstance(value, ast.Constant) and value.value in _PLAIN.get(key, ()) for key, value in given.items())
    return tensor if plain and len(arguments) <= len(positions) else None


def _named(
    source: Source, function: Function, statement: ast.Assign, name: str, call: ast.Call, tensor: ast.expr
) -> tuple[TextEdit, ...]:
    """The edits where the distinct values have a name: a simple tensor stands in its place, another gets a name itself."""
    uses = list(_uses(source, function, statement, name))
    if not uses:
        raise Refused(f"Nothing reads `{name}`; remove it.")
    simple = isinstance(tensor, ast.Name)
    text = render(source, tensor) if simple else source.fresh("values")
    _require_same(source, function, statement, tensor if isinstance(tensor, ast.Name) else None, uses)
    shown = render(source, call).replace(render(source, tensor), text) if not simple else render(source, call)
    made: list[TextEdit] = []
    for use in uses:
        if _is_raised(source, use):
            if any(one in shown for one in "\"'\\{\n"):
                raise Refused(f"`{shown}` cannot stand in the message; give what it needs a name first.")
            made.append(edits.rewrite(source, use, shown))
        else:
            _require_asked(source, use, name)
            made.append(edits.rewrite(source, use, text))
    if all(_is_raised(source, use) for use in uses):
        raise Refused(f"Only a message reads `{name}`; make it there.")
    if simple:
        return edits.remove(source, statement), *made
    return edits.replace(source, statement, statement, [f"{text} = {render(source, tensor)}"]), *made


def _uses(source: Source, function: Function, statement: ast.Assign, name: str) -> Iterator[ast.Name]:
    """Where the distinct values are read.

    Raises:
        Refused: where a read may see another value of the name, or this one through something else.
    """
    end = source.range(statement)[1]
    for one in walk(function):
        changed = isinstance(one, (ast.AugAssign, ast.Delete)) and name in assigned(one)
        if changed and isinstance(one, ast.stmt) and source.range(one)[0] > end:
            raise Refused(f"Line {source.span(one).start.line} changes or deletes `{name}`; use another name there.")
        if not (isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)):
            continue
        value = value_at(source, one)
        if value is statement.value:
            yield one
        elif value is None and (source.range(one)[0] > end or source.function(one) is not function):
            line = source.span(one).start.line
            raise Refused(f"Line {line}: `{name}` may be something else by then; use another name there.")


def _require_same(
    source: Source, function: Function, statement: ast.Assign, tensor: ast.Name | None, uses: list[ast.Name]
) -> None:
    """Refuse a tensor that changes, or whose name does, before the last use."""
    around = set(source.ancestors(statement))
    loops = [one for use in uses for one in source.ancestors(use) if isinstance(one, (ast.For, ast.While))]
    again = [one for one in loops if one not in around]  # a later turn uses what an earlier one has changed
    start, end = source.range(statement)[1], max(source.range(one)[1] for one in (*uses, *again))
    between = [
        one
        for one in walk(function)
        if isinstance(one, ast.stmt) and start <= source.range(one)[0] < end and not isinstance(one, ast.Raise)
    ]
    before, after = later(source, function, statement), tensor.id if tensor is not None else None
    for one in between:
        line = source.span(one).start.line
        for part in ast.iter_child_nodes(one):
            if isinstance(part, ast.expr) and (found := _effect(source, part)):
                raise Refused(f"Line {line}: `{found}` may change what the distinct values are of.")
        if isinstance(one, ast.AugAssign) or (
            isinstance(one, ast.Assign) and not all(isinstance(each, ast.Name) for each in one.targets)
        ):
            raise Refused(f"Line {line} changes something in place before the last use of the distinct values.")
        bound = {each.id for each in walk(one) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        if after in before.rebound and after in bound:
            raise Refused(f"Line {line}: `{after}` is something else before the last use of the distinct values.")


def _effect(source: Source, node: ast.expr) -> str | None:
    """What in an expression may do more than give a value, as text."""
    return next((render(source, one.node) for one in hazards(source, node) if one.kind == "effect"), None)


def _is_raised(source: Source, use: ast.expr) -> bool:
    """Whether an expression stands in a `raise` under a condition, so that it is computed when a check fails."""
    above = list(source.ancestors(use))
    return any(isinstance(one, ast.Raise) for one in above) and any(isinstance(one, ast.If) for one in above)


def _require_asked(source: Source, node: ast.expr, name: str | None) -> None:
    """Refuse a use that asks more of the distinct values than all elements can tell.

    Raises:
        Refused: with the use.
    """
    whole: ast.expr = node
    while isinstance(above := _above(source, whole), ast.expr) and _is_each(source, above, node, name):
        whole = above
    if not _is_question(source, whole):
        shown = source.statement(node)
        line = source.span(shown if shown is not None else node).start.line
        raise Refused(
            f"Line {line} may ask how many distinct values there are, or in which order; only `any`, `all`, and the largest or "
            "smallest of them in a comparison are the same of all elements."
        )


def _above(source: Source, node: ast.AST) -> ast.AST | None:
    """What an expression is an operand or an argument of."""
    above = source.parents.get(node)
    if isinstance(above, ast.Attribute):
        call = source.parents.get(above)
        return call if isinstance(call, ast.Call) and call.func is above else above
    return above


def _is_each(source: Source, node: ast.expr, values: ast.expr, name: str | None) -> bool:
    """Whether an expression looks at each of the values by itself; what it takes besides are numbers."""

    def fits(one: ast.expr) -> bool:
        if one is values or (isinstance(one, ast.Name) and one.id == name):
            return True
        return _is_number(source, one) or _is_each(source, one, values, name)

    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return isinstance(op, _COMPARED) and fits(left) and fits(right)
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv(), right=right):
            return fits(left) and _is_number(source, right)
        case ast.BinOp(left=left, op=op, right=right):
            return isinstance(op, _ARITHMETIC) and fits(left) and fits(right)
        case ast.UnaryOp(op=ast.Invert() | ast.USub(), operand=inner):
            return fits(inner)
        case ast.Call(func=ast.Attribute(value=receiver, attr=attr), args=args, keywords=[]):
            given = args if dotted(source, node.func) == f"torch.{attr}" else [receiver, *args]
            if dotted(source, node.func) == "torch.isin":  # the second is a set of values
                mentioned = any(one is values or getattr(one, "id", "") == name for one in walk(given[-1]))
                return len(given) == 2 and fits(given[0]) and not mentioned
            return _looks_at_each(source, node) and bool(given) and all(map(fits, given))
    return False


def _looks_at_each(source: Source, call: ast.Call) -> bool:
    """Whether an operator gives of an element what it gives of each that is equal to it."""
    operator = operator_called(source, call)
    if operator is None or operator.form != "elementwise" or operator.safe is not None or operator.name in _TELL_ZEROS:
        return False
    return operator.dtype not in ("float", "unknown") and not (operator.random or operator.effect)


def _is_number(source: Source, node: ast.expr) -> bool:
    """Whether an expression surely is a number, or a tensor without dimensions."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda)):
        return False
    kinds = Kinds(source)
    return kinds.of(node) == "python" or Scalars(source, kinds).is_zero_dim(node)


def _is_question(source: Source, node: ast.expr) -> bool:
    """Whether what stands above an expression is a reduction that neither order nor number changes."""
    call = _above(source, node)
    if not isinstance(call, ast.Call) or call.keywords or not isinstance(call.func, ast.Attribute):
        return False
    name = dotted(source, call.func)
    if name is not None:
        last, own = name.removeprefix("torch."), len(call.args) == 1 and call.args[0] is node
    else:
        last, own = call.func.attr, call.func.value is node and not call.args
    if not own:
        return False
    if last in ("any", "all"):
        return True
    above: ast.AST | None = _above(source, call)
    if isinstance(above, ast.Call) and getattr(above.func, "attr", "") == "item" and not above.args:
        above = _above(source, above)
    return last in _LARGEST and isinstance(above, ast.Compare)
