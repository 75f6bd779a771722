"""Values of the where rule: what one side of a condition gives, and both sides chosen by ``torch.where``.

What ``torch.where`` cannot choose is refused: None, text, containers, effects, random numbers. A value is written
plainly, or guarded ("double where"): operands of ``sqrt``, ``log``, ``/`` are made harmless on the side not taken, so
that its gradient is not NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import METHODS
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.lowering.harmless import harmless_operand, is_position_in_table
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Mend

_SAFE_OPERAND = {
    name: one.safe for name, one in METHODS.items() if one.safe is not None and not (one.of_two or one.effect)
}
"""What is put in the place of an operand whose side is not taken: a number at which value and gradient are finite."""

_POWERS = ("pow", "float_power")
_BARE = "Gradients become NaN where the side that is not taken leaves its domain."


@dataclass(frozen=True, slots=True)
class Leaf:
    """An expression of the program."""

    node: ast.expr


@dataclass(frozen=True, slots=True)
class Made:
    """A text composed from the program's (``y += v`` as ``y + v``); `divisor` is its last operand when it divides."""

    head: str
    node: ast.expr | None = None
    tail: str = ""
    divides: bool = False


@dataclass(frozen=True, slots=True)
class Old:
    """What a target held before."""

    key: str


@dataclass(frozen=True, slots=True)
class Choice:
    """`then` where the test holds, `other` where it does not; `end` is what makes a number's tensor of the choice."""

    test: Test
    then: Value
    other: Value
    end: str = ""


@dataclass(frozen=True, slots=True)
class Same:
    """What is no tensor (a text, None, a number in a container): both sides must give the same."""

    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A container: `fields` says which and names its places, `parts` stand in them, `pieces` is the text around the parts."""

    fields: tuple[str, ...]
    pieces: tuple[str, ...]
    parts: tuple[Value, ...]


Value: TypeAlias = "Leaf | Made | Old | Choice | Same | Tree"
Guard = tuple[Test, bool]


def with_caution(mends: Sequence[Mend]) -> tuple[Mend, ...]:
    """The mends of one place, the guarded one first; the plain one that stands behind it says what it leaves open."""
    if len(mends) < 2:
        return tuple(mends)
    return (*mends[:-1], replace(mends[-1], cautions=(*mends[-1].cautions, _BARE)))


@dataclass
class Writer:
    """Writes values as text. `names` are names that tests have got; `uses` counts how often each test was written."""

    source: Source
    kinds: Kinds
    where: str
    double: bool = False
    names: dict[int, str] = field(default_factory=dict)
    uses: dict[int, int] = field(default_factory=dict)
    guarded: bool = False

    def condition(self, test: Test) -> str:
        """The test's name, or its text."""
        self.uses[id(test)] = self.uses.get(id(test), 0) + 1
        return self.names.get(id(test), test.predicate)

    def text(self, value: Value, guards: Sequence[Guard] = ()) -> str:
        """The text of a value; `guards` are the tests around it and the side it is on."""
        if isinstance(value, Old):
            return value.key
        if isinstance(value, Same):
            return value.text
        if isinstance(value, Tree):
            parts = [self.text(part, guards) for part in value.parts]
            return "".join(text for pair in zip(value.pieces, [*parts, ""], strict=True) for text in pair)
        if isinstance(value, Leaf):
            return self._guarded(value.node, guards)
        if isinstance(value, Made):
            if value.node is None:
                return value.head + value.tail
            inner = self._guarded(value.node, guards)
            if value.divides and self.double and guards and self.kinds.of(value.node) != "python":
                inner = self._harmless(inner, "1", guards)
            return value.head + (operand(inner) if value.tail != ")" else inner) + value.tail
        return self._choice(value, guards)

    def _choice(self, value: Choice, guards: Sequence[Guard]) -> str:
        if shared := self._shared_call(value):
            call, pairs = shared
            exchange: dict[ast.AST, str] = {}
            for one, other in pairs:
                then, otherwise = (
                    self.text(Leaf(one), (*guards, (value.test, True))),
                    self.text(Leaf(other), (*guards, (value.test, False))),
                )
                exchange[one] = f"{self.where}({self.condition(value.test)}, {then}, {otherwise})"
            return render(self.source, call, exchange)
        before = dict(self.uses)
        condition = self.condition(value.test)
        then = self.text(value.then, (*guards, (value.test, True)))
        otherwise = self.text(value.other, (*guards, (value.test, False)))
        if then == otherwise:
            self.uses = before
            return then
        return f"{self.where}({condition}, {then}, {otherwise}){value.end}"

    def plain(self, node: ast.expr) -> str:
        """The text of a node as an argument."""
        text = render(self.source, node)
        return f"({text})" if isinstance(node, (ast.GeneratorExp, ast.NamedExpr)) and not text.startswith("(") else text

    def _shared_call(self, value: Choice) -> tuple[ast.Call, list[tuple[ast.expr, ast.expr]]] | None:
        """A call of a submodule that both sides make with different tensors: it is made once, of the chosen tensor."""
        if not (isinstance(value.then, Leaf) and isinstance(value.other, Leaf)):
            return None
        one, other = value.then.node, value.other.node
        if not (isinstance(one, ast.Call) and isinstance(other, ast.Call)):
            return None
        if not any(hazard.kind == "compute" and hazard.node is one for hazard in hazards(self.source, one)):
            return None
        pairs = differing_arguments(one, other)
        return (one, pairs) if pairs else None

    def _guarded(self, node: ast.expr, guards: Sequence[Guard]) -> str:
        if not guards:
            return self.plain(node)
        exchange: dict[ast.AST, str] = {}
        pending: list[ast.AST] = [node]
        while pending:
            one = pending.pop()
            raising = harmless_operand(self.source, self.kinds, one)
            spot = raising or (self._hazardous(one) if self.double else None)
            if spot is None:
                pending.extend(ast.iter_child_nodes(one))
                continue
            inner, safe = spot
            text = self._chosen_or(self._guarded(inner, guards), safe, guards)
            self.guarded = self.guarded or raising is None
            if raising and isinstance(one, ast.Subscript) and is_position_in_table(self.source, one):
                table = operand(self._guarded(one.value, guards))
                # An index without dimensions may have any integer dtype, and be on another device.
                torch, _, _ = self.where.rpartition(".")
                moved = f".to({table}.device, {torch}.int64)" if torch else f".long().to({table}.device)"
                exchange[one] = f"{table}[{text}[None]{moved}][0]"
                continue
            exchange[inner] = text
            pending.extend(
                child for child in ast.iter_child_nodes(one) if child is not inner and not _within(inner, child)
            )
        return render(self.source, node, exchange) if exchange else self.plain(node)

    def _harmless(self, text: str, safe: str, guards: Sequence[Guard]) -> str:
        self.guarded = True
        return self._chosen_or(text, safe, guards)

    def _chosen_or(self, text: str, safe: str, guards: Sequence[Guard]) -> str:
        """The operand where its side is taken, and a harmless number where it is not."""
        for test, taken in reversed(guards):
            condition = self.condition(test)
            text = (
                f"{self.where}({condition}, {text}, {safe})" if taken else f"{self.where}({condition}, {safe}, {text})"
            )
        return text

    def _hazardous(self, node: ast.AST) -> tuple[ast.expr, str] | None:
        """The operand for which an operation's gradient may not be finite, and a harmless number for it."""
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Div) and self._varies(node.right):
                return node.right, "1"
            if isinstance(node.op, ast.Pow) and not _is_whole_power(node.right) and self._varies(node.left):
                return node.left, "1"
            return None
        if not isinstance(node, ast.Call):
            return None
        name = dotted(self.source, node.func)
        if name is not None:
            last = name.rpartition(".")[2]
            if not name.startswith("torch.") or not node.args:
                return None
            if last in ("div", "divide", "true_divide") and len(node.args) > 1 and self._varies(node.args[1]):
                return node.args[1], "1"
            if (
                last in _POWERS
                and len(node.args) > 1
                and not _is_whole_power(node.args[1])
                and self._varies(node.args[0])
            ):
                return node.args[0], "1"
            return (node.args[0], _SAFE_OPERAND[last]) if last in _SAFE_OPERAND and self._varies(node.args[0]) else None
        if isinstance(node.func, ast.Attribute):
            last = node.func.attr
            if last in ("div", "divide", "true_divide") and node.args and self._varies(node.args[0]):
                return node.args[0], "1"
            if last in _POWERS and node.args and not _is_whole_power(node.args[0]) and self._varies(node.func.value):
                return node.func.value, "1"
            if last in _SAFE_OPERAND and not node.args and self._varies(node.func.value):
                return node.func.value, _SAFE_OPERAND[last]
        return None

    def _varies(self, node: ast.expr) -> bool:
        return not isinstance(node, ast.Constant) and self.kinds.of(node) != "python"


def _is_whole_power(node: ast.expr) -> bool:
    """Whether an exponent is a whole number above 0: then the power and its gradient are finite for all finite numbers."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 0


def differing_arguments(one: ast.Call, other: ast.Call) -> list[tuple[ast.expr, ast.expr]] | None:
    """The arguments in which two calls of the same callee differ; None when they are not the same call otherwise."""
    if ast.dump(one.func) != ast.dump(other.func) or len(one.args) != len(other.args):
        return None
    if [keyword.arg for keyword in one.keywords] != [keyword.arg for keyword in other.keywords]:
        return None
    values = [*one.args, *(keyword.value for keyword in one.keywords)]
    others = [*other.args, *(keyword.value for keyword in other.keywords)]
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if ast.dump(a) != ast.dump(b)]
    if any(isinstance(node, (ast.Starred, ast.Constant)) for pair in pairs for node in pair):
        return None
    return pairs


def refuse_value(source: Source, kinds: Kinds, node: ast.expr, changes: list[str]) -> None:
    """Refuse what ``torch.where`` cannot choose or what must not run on the side not taken; note what costs more.

    Raises:
        Refused: with the reason.
    """
    text = render(source, node)
    if isinstance(node, ast.Constant) and not (
        isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    ):
        what = "None" if node.value is None else "text" if isinstance(node.value, str) else f"`{text}`"
        raise Refused(f"One side gives {what}, which `torch.where` cannot choose.")
    if isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Tuple)):
        raise Refused(f"One side gives a container, `{text}`; `torch.where` chooses between tensors only.")
    if isinstance(node, (ast.JoinedStr, ast.Lambda, ast.GeneratorExp, ast.Starred)):
        raise Refused(f"One side gives `{text}`, which `torch.where` cannot choose.")
    if not isinstance(node, ast.Constant) and kinds.of(node) == "python" and not _number_like(node):
        raise Refused(f"`{text}` is a Python value; `torch.where` would turn it into a tensor.")
    refuse_hazards(source, node, changes, kinds)


def refuse_conversion(source: Source, kinds: Kinds, then: ast.expr, other: ast.expr) -> None:
    """Refuse sides of which only one is converted to another dtype: the result would have one dtype for both.

    Raises:
        Refused: with the reason.
    """
    for one, two in ((then, other), (other, then)):
        cast = _cast(one)
        if cast and cast != _cast(two) and not isinstance(two, ast.Constant):
            raise Refused(
                f"`{render(source, one)}` and `{render(source, two)}` have different dtypes; convert both sides."
            )
        if kinds.is_bool(one) and isinstance(two, ast.BinOp) and not kinds.is_bool(two):
            raise Refused(
                f"`{render(source, one)}` and `{render(source, two)}` have different dtypes; convert both sides."
            )


def _cast(node: ast.expr) -> str:
    """The method that a value ends with when it converts to another dtype than float's default."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        casts = ("long", "int", "short", "byte", "char", "bool", "half", "double", "bfloat16")
        return node.func.attr if node.func.attr in casts else ""
    return ""


def refuse_hazards(source: Source, node: ast.AST, changes: list[str], kinds: Kinds | None = None) -> None:
    """Refuse an expression that must not run on the side not taken; note what costs more.

    With `kinds` the expression is a value that a `Writer` guards: what it makes harmless may stay.

    Raises:
        Refused: with the reason.
    """
    for hazard in hazards(source, node):
        text = render(source, hazard.node)
        if hazard.kind == "random":
            raise Refused(f"`{text}` {hazard.words}; run on both sides it would change every later random number.")
        if hazard.kind == "effect":
            raise Refused(f"`{text}` {hazard.words}; it must run only when its side is taken.")
        if hazard.kind == "raises":
            if kinds is not None and harmless_operand(source, kinds, hazard.node) is not None:
                continue
            raise Refused(f"`{text}` {hazard.words}, also when its side is not taken.")
        note = f"Every call computes `{text}`, also when its side is not taken."
        if note not in changes:
            changes.append(note)


def _number_like(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _within(inner: ast.AST, outer: ast.AST) -> bool:
    return any(one is inner for one in walk(outer))
