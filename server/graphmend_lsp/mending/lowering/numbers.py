"""Numbers that a tensor chooses, kept as a tensor without dimensions: where such a tensor may stand in a number's place.

Measured over nine dtypes with and without dimensions: ``+``, ``-``, ``*``, ``/``, comparisons and ``masked_fill`` give the
same dtype and bits, where every dtype holds the numbers, a divisor or dividend is a power of two (torch takes the
reciprocal of other ones) and the other operand has dimensions, is floating beside an int, or the number takes its dtype.
``**`` does not. No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.bindings import value_at
from graphmend_lsp.mending.facts.dimensions import has_dimensions
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.number_needs import why_number
from graphmend_lsp.mending.facts.result_dtype import exact_number
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.lowering.number_uses import scope_of
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, TextEdit

_MIXED = "One side gives an int and the other a float; write both as floats."
_METHODS = ("mul", "add", "sub", "masked_fill", "masked_fill_", "mul_", "add_", "sub_")


def plain_numbers(node: ast.expr) -> list[ast.expr] | None:
    """The numbers that an expression chooses among (the only one, for a number); None when it may give something else."""
    if isinstance(node, ast.IfExp):
        sides = [plain_numbers(one) for one in (node.body, node.orelse)]
        return None if None in sides else [number for side in sides for number in side or ()]
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    kept = (
        isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float)) and not isinstance(inner.value, bool)
    )
    return [node] if kept else None


@dataclass(frozen=True)
class Numbers:
    """The numbers that are chosen among at one place: all ints or all floats, each held by every dtype.

    `rewrites`: a use may get another text. `assumed` are the operands found beside a chosen number of which it is not known
    that they have dimensions or the dtype that the number has: a number would take theirs. `exact` are the texts of uses with
    which nothing is assumed; they are taken where all uses have one.

    Raises:
        Refused: for other numbers.
    """

    source: Source
    kinds: Kinds
    numbers: Sequence[ast.expr]
    rewrites: bool = True
    assumed: list[ast.expr] = field(default_factory=list)
    exact: dict[ast.expr, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_mixed(self.numbers)
        for one in self.numbers:
            if not exact_number(one):
                raise Refused(
                    f"`{render(self.source, one)}` is rounded in some dtypes: a tensor rounds before its use, a number after "
                    "it. Choose between what is computed with it."
                )

    @property
    def whole(self) -> bool:
        """Whether they are ints."""
        return isinstance(_value(self.numbers[0]), int)

    def end(self, test: ast.expr) -> str:
        """What makes a tensor without dimensions of a choice: nothing where the condition surely has none."""
        return "" if Scalars(self.source, self.kinds).is_zero_dim(test) else ".reshape(())"

    def refuse_uses(self, nodes: Iterable[ast.expr]) -> dict[ast.expr, str]:
        """The texts of those uses that need another one; a use may be the choice itself or a name that holds it.

        Raises:
            Refused: where only a number would do, or a tensor would give another dtype or other bits.
        """
        texts = {node: self._text(node) for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset))}
        if len(self.exact) == len(self.assumed):
            texts |= self.exact
            self.assumed.clear()
        return {node: text for node, text in texts.items() if text}

    def _text(self, node: ast.expr) -> str:
        used: ast.expr = node
        parent = self.source.parents.get(used)
        while isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            used, parent = parent, self.source.parents.get(parent)
        if isinstance(parent, ast.BinOp):
            self._refuse_operator(parent, parent.op)
            return self._beside(node, parent, parent.right if parent.left is used else parent.left)
        if isinstance(parent, ast.AugAssign) and parent.value is used:
            self._refuse_operator(parent, parent.op)
            if self.kinds.of(parent.target) == "tensor":
                return ""
        elif isinstance(parent, ast.Compare) and len(parent.comparators) == 1:
            if not isinstance(parent.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                other = parent.comparators[0] if parent.left is used else parent.left
                self._refuse_numbers(parent, other)
                # below 0 a number wraps beside an unsigned integer; a tensor without dimensions does only in its dtype
                wraps = self.whole and (used is not node or any(isinstance(one, ast.UnaryOp) for one in self.numbers))
                return self._unsure(node, other) if wraps and not self._widens(other) else ""
        elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and not parent.keywords:
            method = parent.func.attr
            last = parent.args[-1] is used and len(parent.args) == 1 + method.startswith("masked_fill")
            if last and method in _METHODS and self.kinds.of(parent.func.value) == "tensor":
                return "" if method.startswith("masked_fill") else self._beside(node, parent, parent.func.value)
        raise Refused(f"Line {used.lineno}: {why_number(self.source, used, parent)}.")

    def _refuse_operator(self, at: ast.BinOp | ast.AugAssign, operator: ast.operator) -> None:
        if isinstance(operator, (ast.Add, ast.Sub, ast.Mult)):
            return
        text = f"Line {at.lineno}: `{render(self.source, at)}`"
        if not isinstance(operator, ast.Div):
            raise Refused(f"{text} may be computed in another way with a tensor than with a number.")
        if not all(_is_power_of_two(one) for one in self.numbers):
            raise Refused(f"{text} divides; a tensor gives the same bits for powers of two only.")

    def _refuse_numbers(self, parent: ast.expr, other: ast.expr) -> str:
        """The words for an operation, whose other operand must not be a Python number."""
        text = f"Line {parent.lineno}: `{render(self.source, parent)}`"
        if self.kinds.of(other) == "python":
            raise Refused(f"{text} is arithmetic of Python numbers, in float64; choose between its results.")
        if isinstance(other, ast.Attribute) and self.kinds.of(other) == "unknown":
            raise Refused(
                f"{text}: it is not known whether `{render(self.source, other)}` is a tensor or a Python number."
            )
        return text

    def _beside(self, node: ast.expr, parent: ast.expr, other: ast.expr) -> str:
        """The text of a use beside another operand, "" to leave it: beside a tensor without dimensions it takes its dtype."""
        text = self._refuse_numbers(parent, other)
        scalars = Scalars(self.source, self.kinds)
        floating, whole = scalars.is_floating(other), self.whole
        if not scalars.is_zero_dim(other):
            if whole:
                divides = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div)  # gives a float either way
                return "" if divides or self._widens(other) else self._unsure(node, other)
            return "" if has_dimensions(self.source, other) else self._unsure(node, other)
        if floating and whole:
            return ""
        if floating and isinstance(other, ast.Name) and isinstance(node, ast.Name):
            return f"{node.id}.to({other.id}.dtype)"
        raise Refused(
            f"{text}: `{render(self.source, other)}` has no dimensions, so the number must have its dtype; give "
            "both a name."
        )

    def _widens(self, node: ast.expr) -> bool:
        """Whether an operand's dtype surely wins over that of a whole number's tensor: it is floating, or has dimensions."""
        return has_dimensions(self.source, node) or Scalars(self.source, self.kinds).is_floating(node)

    def _unsure(self, node: ast.expr, other: ast.expr) -> str:
        """A use beside what may have no dimensions: of two such tensors the wider dtype wins; a number takes the other's.

        Where both have names, and the other surely is a tensor, its dtype can be asked for.
        """
        self.assumed.append(other)
        named = isinstance(node, ast.Name) and isinstance(other, (ast.Name, ast.Attribute))
        if self.rewrites and named and self.kinds.of(other) == "tensor":
            beside = render(self.source, other)
            floating = Scalars(self.source, self.kinds).is_floating(other)
            dtype = f"{beside}.dtype" if floating else f"({beside} * {'1' if self.whole else '1.0'}).dtype"
            self.exact[node] = f"{render(self.source, node)}.to({dtype})"
        return ""


def dtype_assumed(source: Source, numbers: Numbers) -> list[Assumption]:
    """That the dtype of what a chosen number meets stays: the number is a tensor of its own dtype."""
    places = tuple((source.path, source.span(one)) for one in numbers.assumed)
    return [Assumption("dtype", places=places)] if places else []


def taken_as(numbers: Numbers, target: ast.IfExp, assumes: list[Assumption]) -> dict[ast.expr, str]:
    """The new texts of what takes a chosen number; what leaving the others takes for granted joins `assumes`."""
    texts = numbers.refuse_uses(uses_of(numbers.source, target))
    assumes += dtype_assumed(numbers.source, numbers)
    return texts


def needs_dtype_once(source: Source, kinds: Kinds, target: ast.IfExp) -> bool:
    """Whether two numbers have one use, which stands beside what may have no dimensions, and another dtype than theirs.

    Raises:
        Refused: for numbers or a use that cannot stay.
    """
    found = plain_numbers(target)
    if found is None or len(found) != 2:
        return False
    numbers, uses = Numbers(source, kinds, found), uses_of(source, target)
    numbers.refuse_uses(uses)
    return len(uses) == 1 and bool(numbers.assumed or numbers.exact)


def refuse_mixed(numbers: Sequence[ast.expr]) -> None:
    """Refuse ints among floats: which one is chosen decides about the dtype.

    Raises:
        Refused: where there are both.
    """
    if len({type(_value(one)) for one in numbers}) > 1:
        raise Refused(_MIXED)


def held_by_all(numbers: Sequence[ast.expr]) -> bool:
    """Whether every dtype holds all of the numbers."""
    return all(map(exact_number, numbers))


@dataclass(frozen=True)
class Apart:
    """A choice of numbers of which a dtype may round one: what is computed with each of them is chosen instead."""

    source: Source
    kinds: Kinds
    where: str
    target: ast.IfExp

    def text(self, used: ast.expr, condition: str) -> tuple[ast.expr, str]:
        """The operation around a use (the choice itself, or a name that holds it), and its text with both numbers.

        Raises:
            Refused: for other uses than ``+``, ``-``, ``*`` beside a name, and ``/`` by the number.
        """
        parent = self.source.parents.get(used)
        if not isinstance(parent, ast.BinOp):
            raise Refused(f"Line {used.lineno}: {why_number(self.source, used, parent)}.")
        other = parent.right if parent.left is used else parent.left
        text = f"Line {parent.lineno}: `{render(self.source, parent)}`"
        divides = isinstance(parent.op, ast.Div) and parent.right is used
        if not isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult)) and not divides:
            raise Refused(f"{text}: its gradient may not be finite with the number that is not chosen.")
        if self.kinds.of(other) == "python":
            raise Refused(f"{text} is arithmetic of Python numbers; choose between its results.")
        if not isinstance(other, ast.Name):
            raise Refused(f"{text} would be computed twice; give `{render(self.source, other)}` a name.")
        numbers = plain_numbers(self.target) or []
        if divides and not all(map(_value, numbers)):
            raise Refused(f"{text} divides by 0.")
        texts = [operand(render(self.source, one)) for one in numbers]
        sides = [render(self.source, parent, {used: one}).replace(f"({one})", one) for one in texts]
        return parent, f"{self.where}({condition}, {', '.join(sides)})"


def in_place_of(source: Source, node: ast.expr, text: str) -> TextEdit:
    """`text`, which is a call, in the place of an expression and of parentheses around it that only group."""
    value, (start, end) = source.text.value, source.range(node)
    before = re.search(r"[\w)\]]*$", value[: start - 1].rstrip(" "))
    called = before is not None and bool(before.group()) and not keyword.iskeyword(before.group())
    groups = value[start - 1 : start] + value[end : end + 1] == "()" and not called
    return TextEdit(source.path, source.between(start - groups, end + groups), text)


def is_new(source: Source, kinds: Kinds, predicate: str, test: ast.expr) -> bool:
    """Whether a condition, written as `predicate`, is a tensor of its own, which no change in place of another reaches."""
    made = ast.parse(predicate, mode="eval").body
    return isinstance(made, (ast.Compare, ast.BinOp, ast.UnaryOp)) or Scalars(source, kinds).is_fresh(test)


def uses_of(source: Source, target: ast.IfExp) -> list[ast.expr]:
    """What takes a chosen number: the uses of the one name that it is stored in, or the expression itself.

    Raises:
        Refused: when the name is bound elsewhere too, or used in a function of its own.
    """
    parent = source.parents.get(target)
    function = source.function(target)
    if not (isinstance(parent, ast.Assign) and parent.targets == [name := parent.targets[0]]) or function is None:
        return [target]
    if not isinstance(name, ast.Name):
        return [target]
    if name.id in parameters(function) or name.id not in local_names(function):
        raise Refused(f"Line {name.lineno}: `{name.id}` is not bound here only.")
    loads: list[ast.expr] = []
    others = False
    for one in walk(function):
        if not (isinstance(one, ast.Name) and one.id == name.id) or one is name:
            continue
        if not isinstance(one.ctx, ast.Load):
            if not isinstance(source.parents.get(one), ast.Assign):
                raise Refused(f"Line {one.lineno}: `{name.id}` is bound in more than one place.")
            others = True
            continue
        if scope_of(source, one) is not function:
            raise Refused(f"Line {one.lineno}: `{name.id}` is used in a function or comprehension of its own.")
        loads.append(one)
    if others:
        held = {one: value_at(source, one) for one in loads if isinstance(one, ast.Name)}
        unclear = next((one for one, value in held.items() if value is None), None)
        if unclear is not None:
            raise Refused(f"Line {unclear.lineno}: `{name.id}` may hold what another line gave it.")
        loads = [one for one, value in held.items() if value is target]
    if not loads:
        raise Refused(f"`{name.id}` is not used.")
    return loads


def _value(node: ast.expr) -> int | float:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    value = inner.value if isinstance(inner, ast.Constant) else 0
    return value if isinstance(value, (int, float)) else 0


def _is_power_of_two(node: ast.expr) -> bool:
    return math.frexp(_value(node))[0] == 0.5
