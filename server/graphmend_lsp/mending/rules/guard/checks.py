"""Which statements are checks: ``if bad: raise E("...")`` and ``assert ok``; and what their conditions say about
tensors.

Pure reading. What is done about a check is in `guard` and `guard_graph`.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import is_static
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import is_neutral, needing_elements
from graphmend_lsp.mending.facts.python_callers import python_elsewhere
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.capture import reads
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_TENSOR_WORDS = frozenset(
    [
        "any",
        "all",
        "item",
        "equal",
        "allclose",
        "isnan",
        "isinf",
        "isfinite",
        "isclose",
        "max",
        "min",
        "sum",
        "mean",
        "numel_",
    ]
)


_BOOLEAN = frozenset(
    [
        "isnan",
        "isinf",
        "isfinite",
        "isneginf",
        "isposinf",
        "isclose",
        "isin",
        "logical_not",
        "logical_and",
        "logical_or",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
    ]
)


@dataclass(frozen=True, slots=True)
class Raise:
    """An ``if`` that only raises: `failing` is its condition, `error` the exception raised."""

    statement: ast.If
    failing: ast.expr
    error: ast.Raise


@dataclass(frozen=True, slots=True)
class Assertion:
    """An ``assert``."""

    statement: ast.Assert


Check = Raise | Assertion


def check_of(statement: ast.AST) -> Check | None:
    """The check that a statement is, or None. An ``if`` with nothing but one ``raise`` in it, and no ``else``, is
    one."""
    if isinstance(statement, ast.Assert):
        return Assertion(statement)
    if isinstance(statement, ast.If) and not statement.orelse and len(statement.body) == 1:
        only = statement.body[0]
        if isinstance(only, ast.Raise) and only.exc is not None:
            return Raise(statement, statement.test, only)
        if isinstance(only, ast.If):
            inner = check_of(only)
            if isinstance(inner, Raise):
                return Raise(statement, statement.test, inner.error)
    return None


def on_tensors(source: Source, check: Check) -> bool:
    """Whether a check's condition depends on the values of tensors, as far as its text tells."""
    test = check.statement.test
    tests = [test]
    if isinstance(check, Raise):
        tests += [one.test for one in walk(check.statement) if isinstance(one, ast.If)]
    return any(not is_static(source, one) and _mentions(source, one) for one in tests)


def _mentions(source: Source, test: ast.expr) -> bool:
    return any(
        isinstance(one, ast.Call)
        and (
            (isinstance(one.func, ast.Attribute) and one.func.attr in _TENSOR_WORDS)
            or (dotted(source, one.func) or "").startswith("torch.")
        )
        for one in walk(test)
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """A condition taken apart: `static` holds first (Python), then every one of `tensors` must hold (in a graph).

    `tensors` are the texts of 0-d boolean tensors; `shapes` the texts of conditions on shapes that must hold before
    them.
    """

    static: tuple[str, ...]
    tensors: tuple[str, ...]
    shapes: tuple[str, ...]


def must_hold(source: Source, test: ast.expr, negated: bool) -> Parts | str:
    """What must hold for a check to pass, as tensors; `negated` for the condition under which it fails.

    A failing ``static and bad`` becomes "when static, not bad"; a failing ``a or b`` two tensors. Or the reason why
    that cannot be.
    """
    if negated:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            split = next((at for at, one in enumerate(test.values) if not is_static(source, one)), len(test.values) - 1)
            leading, rest = test.values[:split], test.values[split:]
            inner = must_hold(source, rest[0], True) if len(rest) == 1 else _joined(source, rest, " & ", True)
            if isinstance(inner, str):
                return inner
            return Parts((*(_conjunct(source, one) for one in leading), *inner.static), inner.tensors, inner.shapes)
        if isinstance(test, ast.BoolOp):
            return _all_of(source, test.values, True)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return must_hold(source, test.operand, False)
        return _one(source, test, True)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return _all_of(source, test.values, False)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return must_hold(source, test.operand, True)
    if isinstance(test, ast.BoolOp):
        return _joined(source, test.values, " | ", False)
    return _one(source, test, False)


def _joined(source: Source, values: list[ast.expr], sign: str, negated: bool) -> Parts | str:
    """Several tensor conditions as one tensor: ``(a) & (b)``, or its negation."""
    texts: list[str] = []
    for value in values:
        if is_static(source, value):
            return "Its condition mixes Python and tensor conditions; check the Python part in a statement of its own."
        part = must_hold(source, value, False)
        if isinstance(part, str):
            return part
        if part.static or part.shapes or len(part.tensors) != 1:
            return "Its conditions need statements of their own; make a check of each."
        if texts and (not is_neutral(source, value) or needing_elements(value)):
            return f"`{source.code(value)}` may do more than ask; give it a check of its own."
        boolean = isinstance(value, (ast.Compare, ast.UnaryOp, ast.BoolOp)) or _is_boolean(source, value)
        texts.append(operand(part.tensors[0] if boolean else f"{part.tensors[0]} != 0"))
    joined = sign.join(texts)
    return Parts((), (f"~({joined})" if negated else joined,), ())


def _all_of(source: Source, values: list[ast.expr], negated: bool) -> Parts | str:
    """Several conditions that must all hold; static ones among them cannot be told apart from tensors' later ones."""
    tensors: list[str] = []
    shapes: list[str] = []
    names: set[str] | None = None
    filled: set[str] = set()
    for value in values:
        if is_static(source, value):
            return "Its condition mixes Python and tensor conditions; check the Python part in a statement of its own."
        part = must_hold(source, value, negated)
        if isinstance(part, str):
            return part
        if part.static:
            return "Its condition nests Python conditions; check them in a statement of its own."
        used = [one for one in walk(value) if isinstance(one, ast.Name)]
        if names is not None and not all(one.id in names or _is_number(source, one) for one in used):
            return "Its later conditions use other values than the first; give each a check of its own."
        needs = {_whose_elements(source, one) for one in needing_elements(value)}
        if names is not None and (not is_neutral(source, value) or not needs <= filled):
            return f"`{source.code(value)}` may do more than ask; give it a check of its own."
        if names is None:  # where these have no elements, the first condition raises
            filled = {one for one in needs if one is not None}
            names = {one.id for one in used}
        tensors += part.tensors
        shapes += part.shapes
    return Parts((), tuple(tensors), tuple(shapes))


def _is_number(source: Source, name: ast.Name) -> bool:
    """Whether a name holds a Python number, or every run saw one: to compare a tensor with it cannot raise."""
    fact = Seen(source).of(name)
    if fact is None or set(fact.kinds) - {"int", "float", "bool"}:
        return False
    Seen(source).believe(name, "a number")
    return True


def _whose_elements(source: Source, call: ast.Call) -> str | None:
    """The tensor, as `ast.dump` tells it, that must have elements for a call to give a value; None where more is needed."""
    if call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    if dotted(source, call.func) is None:
        return None if call.args else ast.dump(call.func.value)
    return ast.dump(call.args[0]) if len(call.args) == 1 else None


def _one(source: Source, test: ast.expr, negated: bool) -> Parts | str:
    if (words := python_elsewhere(source, test)) is not None:
        return words
    if isinstance(test, ast.Call):
        name = dotted(source, test.func) or ""
        method = test.func.attr if isinstance(test.func, ast.Attribute) and not name else ""
        if name == "torch.equal" and len(test.args) == 2 and not test.keywords:
            a, b = (_operand(source, one) for one in test.args)
            return _equality(a, b, negated)
        if method == "equal" and len(test.args) == 1 and isinstance(test.func, ast.Attribute):
            return _equality(_operand(source, test.func.value), _operand(source, test.args[0]), negated)
        if name == "torch.allclose" or method == "allclose":
            text = _renamed(source, test, "isclose") + ".all()"
            return Parts((), (f"~{text}",) if negated else (text,), ())
        if is_builtin(source, test.func, "bool") and len(test.args) == 1 and not test.keywords:
            return _one(source, test.args[0], negated)
        if (asked := _asks_list(source, test)) is not None:
            return Parts((), (f"~{asked}" if negated else asked,), ())
    bare = without_item(source, test)
    if isinstance(bare, str):
        return bare
    text, compares = bare
    if not negated:
        return Parts((), (text,), ())
    if compares:
        return Parts((), (f"~({text})",), ())
    if _is_boolean(source, test):
        return Parts((), (f"~{text}",), ())
    return Parts((), (f"{_wrapped(text, _bare(test))} == 0",), ())


def _asks_list(source: Source, test: ast.Call) -> str | None:
    """The text of ``t.any()`` for ``any(t.tolist())``, where `t` surely has one dimension; of ``all`` likewise."""
    name = next((one for one in ("any", "all") if is_builtin(source, test.func, one)), None)
    listed = test.args[0] if len(test.args) == 1 and not test.keywords else None
    if name is None or not (isinstance(listed, ast.Call) and isinstance(listed.func, ast.Attribute)):
        return None
    flat = listed.func.value
    if listed.func.attr != "tolist" or listed.args or not _is_flat(flat):
        return None
    text = operand(ast.unparse(flat) if "\n" in source.code(flat) else render(source, flat))
    of = flat.func.value if isinstance(flat, ast.Call) and isinstance(flat.func, ast.Attribute) else flat
    return f"{text}.{name}()" if Kinds(source).is_bool(of) else f"({text} != 0).{name}()"


def _is_flat(node: ast.expr) -> bool:
    """Whether an expression gives a tensor of one dimension: ``t.view(-1)``, ``t.flatten()``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)) or node.keywords:
        return False
    if node.func.attr in ("flatten", "ravel"):
        return not node.args
    only = node.args[0] if len(node.args) == 1 else None
    return node.func.attr in ("view", "reshape") and only is not None and ast.unparse(only) == "-1"


def _is_boolean(source: Source, test: ast.expr) -> bool:
    """Whether a condition is certainly a boolean tensor, so that ``~`` negates it (``~`` of a number does not)."""
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute)):
        return False
    torch_function = (dotted(source, test.func) or "").startswith("torch.")
    if test.func.attr in ("any", "all"):
        inner = test.args[0] if torch_function and test.args else test.func.value
        return isinstance(inner, ast.Compare) or _is_boolean(source, inner)
    return test.func.attr in _BOOLEAN and (torch_function or dotted(source, test.func) is None)


def without_item(source: Source, test: ast.expr) -> tuple[str, bool] | str:
    """A condition with ``.item()`` and the like left out, so that it is a tensor; and whether it is one comparison."""
    if isinstance(test, ast.Compare):
        if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)):
            return f"`{source.code(test)}` is not one comparison of numbers."
        sides = (test.left, test.comparators[0])
        bare = [_bare(one) for one in sides]
        if any(reads(source, one) for one in bare):
            return f"`{source.code(test)}` computes with a tensor's value in Python."
        if all(bare[i] is not sides[i] for i in (0, 1)):
            return f"`{source.code(test)}` compares two values read from tensors, whose types the comparison would mix."
        known = Kinds(source)
        if bare != list(sides) and any(known.of(one) == "tensor" for one in bare if one in sides):
            return f"`{source.code(test)}` compares a number with a tensor, whose types the comparison would mix."
        start, end = source.range(test)
        text = source.text.value[start:end]
        for old, new in reversed(list(zip(sides, bare, strict=True))):
            first, last = source.range(old)
            spelt = source.code(new)
            if new is not old and not all(_is_exact(one) for one in sides if one is not old):
                other = sides[sides[0] is old]
                spelt = f"{_operand(source, new)}{'.long()' if _are_whole(source, new, other) else '.double()'}"
            text = text[: first - start] + spelt + text[last - start :]
        return text, True
    bare_one = _bare(test)
    if reads(source, bare_one):
        return f"`{source.code(test)}` computes with a tensor's value in Python."
    return source.code(bare_one), False


def _is_exact(node: ast.expr) -> bool:
    """Whether an expression is a number that every dtype holds as it is, so that a tensor of any dtype is compared with it.

    A tensor of integers is compared with an integer in its own dtype, in which a number that it cannot hold wraps: of a uint8
    44, torch says that it is 300 (torch 2.13).
    """
    value = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)) else node
    if not isinstance(value, ast.Constant) or not isinstance(value.value, (int, float)):
        return False
    if isinstance(value.value, int):
        return value.value <= (0 if value is not node else 127)
    mantissa, exponent = math.frexp(value.value)
    return (mantissa * 256).is_integer() and -13 <= exponent <= 7 if math.isfinite(value.value) else True


def _are_whole(source: Source, tensor: ast.expr, number: ast.expr) -> bool:
    """Whether integers are compared with an integer, which int64 does as Python; others are compared in float64."""
    seen = Seen(source)
    fact, other = seen.tensor(tensor), seen.of(number)
    of_tensor = fact is not None and not any(one.startswith(("float", "bfloat", "complex")) for one in fact.dtypes)
    literal = isinstance(number, ast.Constant) and isinstance(number.value, int)
    if not of_tensor or not (literal or (other is not None and other.kinds == ("int",))):
        return False
    seen.believe(tensor, f"of dtype {' or '.join(fact.dtypes if fact is not None else ())}")
    if not literal:
        seen.believe(number, "an integer")
    return True


def _bare(node: ast.expr) -> ast.expr:
    """An expression without a trailing ``.item()``, or what ``bool(...)``/``float(...)``/``int(...)`` is called on."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "item"
        and not node.args
    ):
        return node.func.value
    return node


def _equality(a: str, b: str, negated: bool) -> Parts:
    text = f"({a} == {b}).all()"
    if negated:
        return Parts((f"{a}.shape == {b}.shape",), (f"{text} == 0",), ())
    return Parts((), (text,), (f"{a}.shape == {b}.shape",))


def _renamed(source: Source, call: ast.Call, name: str) -> str:
    """The text of a call with the last part of what is called renamed."""
    start, end = source.range(call)
    _, stop = source.range(call.func)
    old = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    text = source.text.value
    return text[start : stop - len(old)] + name + text[stop:end]


def _operand(source: Source, node: ast.expr) -> str:
    """The text of an expression that can stand beside an operator."""
    text = source.code(node)
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)) else f"({text})"


def _conjunct(source: Source, node: ast.expr) -> str:
    """The text of an expression that can stand between ``and``s."""
    text = source.code(node)
    return f"({text})" if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)) else text


def _wrapped(text: str, node: ast.expr) -> str:
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
