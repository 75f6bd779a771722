"""Counts with a known number of bins: `torch.bincount` becomes a sum over a one-hot code.

What it does
------------
``torch.bincount(t, minlength=n)`` becomes ``torch.nn.functional.one_hot(t, n).sum(0)``: always `n`
int64 counts.

Why it costs
------------
How long the result of `torch.bincount` is depends on the largest value, also with a `minlength`, and a graph has fixed shapes:
Dynamo ends the graph there.

Safety
------
The counts are equal where every value is at least 0 and below `n`. That is so where the source says it: ``t.clamp(0, n - 1)`` or
``t % n``. Elsewhere the mend is never called safe, and says that other values would not be counted. A tensor that is no
int64 is converted.

When it is refused
------------------
Without a `minlength`, because then only data says how many bins there are; with weights, whose sum would be rounded
otherwise.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.rules.bins import RULE
from graphmend_lsp.mending.rules.bins.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_SAME_VALUES = frozenset({"flatten", "view", "reshape", "contiguous", "ravel", "detach"})


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a count with a known number of bins; empty when the break is no such count."""
    source = place.source
    node = place.node
    values = _counted(source, node) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or values is None:
        return ()
    return (_mend(source, node, values),)


def _counted(source: Source, call: ast.Call) -> ast.expr | None:
    """The tensor whose values a call of `bincount` counts; None for another call."""
    if dotted(source, call.func) == "torch.bincount":
        named = [one.value for one in call.keywords if one.arg == "input"]
        return call.args[0] if call.args else named[0] if named else None
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "bincount" and dotted(source, function) is None:
        return function.value
    return None


def _mend(source: Source, call: ast.Call, values: ast.expr) -> Mend:
    bins = _bins(source, call, values)
    text, count = render(source, values), render(source, bins)
    if not _is_int64(source, values):
        text = f"{operand(text)}.long()"
    one_hot, imported = spell(source, "torch.nn.functional.one_hot", call)
    edit = edits.rewrite(source, call, f"{one_hot}({text}, {count}).sum(0)")
    told = f"A value below 0 or not below `{count}` would not be counted."
    return Mend(
        rule=RULE.name,
        title=f"Count {count} bins with one_hot",
        path=source.path,
        span=source.span(call),
        edits=(edit, *([imported] if imported else [])),
        cautions=() if _is_below(source, values, bins, call) else (told,),
    )


def _bins(source: Source, call: ast.Call, values: ast.expr) -> ast.expr:
    """The number of bins that is asked for.

    Raises:
        Refused: when none is, or there are weights.
    """
    rest = [one for one in call.args if one is not values]
    given: dict[str, ast.expr] = dict(zip(("weights", "minlength"), rest, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg}
    if (
        len(rest) > 2
        or any(isinstance(one, ast.Starred) for one in rest)
        or any(one.arg is None for one in call.keywords)
    ):
        raise Refused(f"The arguments of `{render(source, call)}` are not written out.")
    weights, bins = given.get("weights"), given.get("minlength")
    if weights is not None and not (isinstance(weights, ast.Constant) and weights.value is None):
        raise Refused(f"`{render(source, weights)}` weighs the counts, and their sum would round differently.")
    if bins is None or (isinstance(bins, ast.Constant) and bins.value == 0):
        raise Refused(
            f"How long `{render(source, call)}` is depends on the largest value; say how many bins there are, as in "
            "`minlength=n`, and keep the values below."
        )
    if Kinds(source).of(bins) == "tensor":
        raise Refused(f"The number of bins, `{render(source, bins)}`, is a tensor.")
    return bins


def _is_below(source: Source, values: ast.expr, bins: ast.expr, at: ast.AST) -> bool:
    """Whether the source says that all values are at least 0 and below the number of bins.

    `values` are integers, as `bincount` takes no others, and so is what a clamp or a remainder of them was made of.
    """
    if isinstance(values, ast.Name):
        statement = source.statement(at)
        value = last_value(source, values.id, statement) if statement is not None else None
        bound = {one.id for one in walk(bins) if isinstance(one, ast.Name)}
        return value is not None and not bound and _is_below(source, value, bins, value)
    if isinstance(values, ast.BinOp) and isinstance(values.op, ast.Mod):
        return _at_most(values.right, bins, 0)
    if not isinstance(values, ast.Call):
        return False
    name = dotted(source, values.func)
    method = values.func if isinstance(values.func, ast.Attribute) and name is None else None
    if method is not None and method.attr in _SAME_VALUES:
        return _is_below(source, method.value, bins, at)
    called = method.attr if method is not None else (name or "").removeprefix("torch.")
    arguments = values.args if method is not None else values.args[1:]
    if called == "remainder":
        return len(arguments) == 1 and _at_most(arguments[0], bins, 0)
    if called not in ("clamp", "clip"):
        return False
    given = dict(zip(("min", "max"), arguments, strict=False))
    given |= {one.arg: one.value for one in values.keywords if one.arg}
    low, high = given.get("min"), given.get("max")
    least = _number(low) if low is not None else None
    return least is not None and least >= 0 and high is not None and _at_most(high, bins, 1)


def _is_int64(source: Source, values: ast.expr) -> bool:
    """Whether an expression surely is an int64 tensor, as `one_hot` takes it."""
    if isinstance(values, ast.BinOp) and isinstance(values.op, ast.Mod):
        return _is_int64(source, values.left)
    return Scalars(source, Kinds(source)).is_int64(values)


def _at_most(value: ast.expr, bins: ast.expr, less: int) -> bool:
    """Whether a number is at most the number of bins, less `less`: both constants, or said by the same words."""
    number, most = _number(value), _number(bins)
    if number is not None and most is not None:
        return 0 <= number <= most - less and (less > 0 or number > 0)
    if less == 0:
        return ast.dump(value) == ast.dump(bins) and not _calls(bins)
    minus = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) and _number(value.right)
    return (
        isinstance(value, ast.BinOp) and bool(minus) and (minus or 0) >= less
        and ast.dump(value.left) == ast.dump(bins) and not _calls(bins)
    )  # fmt: skip


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _calls(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) for one in walk(node))
