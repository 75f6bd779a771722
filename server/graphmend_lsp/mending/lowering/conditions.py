"""Conditions of the where rule: which part stays a Python test, and the rest as one boolean tensor.

``a and b`` becomes ``a & b``, ``not t`` becomes ``~t``, ``0 < s < 9`` becomes ``(0 < s) & (s < 9)``, ``t.item() > 0``
becomes ``t > 0``. Nothing here knows what the branches do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from graphmend_lsp.mending.facts.dimensions import same_shape
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards, needing_elements, words_for_empty
from graphmend_lsp.mending.facts.python_callers import may_be_number, python_elsewhere
from graphmend_lsp.mending.facts.result_dtype import exact_number
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.facts.static_loops import iterates_statically
from graphmend_lsp.mending.lowering.membership import Membership
from graphmend_lsp.mending.syntax.formatting import (
    is_atom,
    name_for,
    operand,
    operand_of_comparison,
    operand_of_junction,
    render,
)
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Span


@dataclass(frozen=True, slots=True)
class Test:
    """A condition taken apart. `static` is the Python part ("" for none), `predicate` the boolean tensor's text.

    `setup` are statements that must stand before (an operand that is used twice), `spans` where the truth of a tensor
    was tested, `nodes` those expressions.
    """

    static: str
    predicate: str
    setup: tuple[str, ...]
    nodes: tuple[ast.expr, ...]
    reads: frozenset[str]

    def spans(self, source: Source) -> tuple[Span, ...]:
        """Where the tensors' truth was tested."""
        return tuple(source.span(node) for node in self.nodes)


@dataclass(slots=True)
class Conditions:
    """Takes conditions apart. `fresh` makes a new name; `told` collects what may differ for sizes that no call shows.

    `draws` allows random numbers in what is evaluated first, once and in every case; it then has a statement of its own.
    """

    source: Source
    kinds: Kinds
    fresh: Callable[[str], str]
    told: list[str] = field(default_factory=list)
    draws: bool = False
    allowed: bool = False
    as_tensor: str = ""  # how to write `torch.as_tensor`, where what a condition compares may be a Python number

    def take(self, test: ast.expr) -> Test:
        """The parts of a condition.

        Raises:
            Refused: when the condition cannot be one boolean tensor.
        """
        static, tensors = self._parts(test)
        for one in tensors[1:]:
            self._refuse_hazards(one, later=True)
        self.draws = self.draws and not static
        setup: list[str] = []
        texts = [self._boolean(one, setup) for one in tensors]
        predicate = texts[0] if len(texts) == 1 else " & ".join(operand_of_junction(text) for text in texts)
        nodes = (test,) if not static else tuple(tensors)
        number = may_be_number(self.source, test) if self.as_tensor and not static else None
        if number is not None and predicate == render(self.source, test):
            predicate = render(self.source, test, {number: f"{self.as_tensor}({number.id})"})
        return Test(" and ".join(static), predicate, tuple(setup), nodes, loaded(test))

    def take_first(self, test: ast.expr) -> Test:
        """The parts of a condition that is evaluated first, once and in every case, so that it may draw random numbers.

        Raises:
            Refused: when the condition cannot be one boolean tensor.
        """
        return replace(self, draws=True).take(test)

    def _parts(self, test: ast.expr) -> tuple[list[str], list[ast.expr]]:
        """The conjuncts that stay Python, as text, and those that are tensors."""
        if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
            return self._shape_test(test), [test]
        static: list[str] = []
        tensors: list[ast.expr] = []
        for one in test.values:
            kind = "tensor" if self.emptiness(one) else self.kinds.of(one)
            if kind == "unknown" and not tensors:
                kind = "python"  # it stands before the tensor that broke the graph and did not break it
            if kind == "unknown":
                raise Refused(_UNCLEAR.format(render(self.source, one)))
            if kind == "tensor":
                tensors.append(one)
                static += self._shape_test(one)
                continue
            if tensors and hazards(self.source, one):
                raise Refused(f"`{render(self.source, one)}` would be evaluated before the tensor condition.")
            text = render(self.source, one)
            static.append(f"({text})" if isinstance(one, (ast.IfExp, ast.Lambda)) or _is_or(one) else text)
        return static, tensors

    def _shape_test(self, node: ast.expr) -> list[str]:
        """The comparison of shapes that ``torch.equal`` makes first; none when the shapes are equal by construction."""
        call = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else node
        if not (isinstance(call, ast.Call) and self._called(call) == "equal" and len(self._pair(call)) == 2):
            return []
        left, right = self._pair(call)
        if same_shape(left, right):
            return []
        if call is not node:
            raise Refused("`not torch.equal(...)` is also true for different shapes; compare the shapes first.")
        return [f"{operand(render(self.source, left))}.shape == {operand(render(self.source, right))}.shape"]

    def _boolean(self, node: ast.expr, setup: list[str]) -> str:
        """The text of a condition as a boolean tensor."""
        if isinstance(node, ast.BoolOp):
            return self._junction(node, setup)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"~{operand(self._boolean(node.operand, setup))}"
        if self.draws and any(hazard.kind == "random" for hazard in hazards(self.source, node)):
            return self._drawn(node, setup)
        self._refuse_hazards(node)
        if (words := python_elsewhere(self.source, node)) is not None:
            raise Refused(words)
        if isinstance(node, ast.Compare):
            return self._comparison(node, setup)
        if isinstance(node, ast.Call):
            known = self._known_call(node, setup)
            if known is not None:
                return known
        text = self._number(node)
        if self.kinds.is_bool(node):
            return text
        return f"{text if is_atom(text) else operand(text)} != 0"

    def _drawn(self, node: ast.expr, setup: list[str]) -> str:
        """A condition that draws random numbers, under a name: it draws once, in front of all that is chosen."""
        for hazard in hazards(self.source, node):
            if hazard.kind == "effect":
                self._refuse_hazards(node)
        self.draws = False
        text = replace(self, allowed=True)._boolean(node, setup)
        whole = Scalars(self.source, self.kinds).is_zero_dim(node)
        name = self.fresh("drawn")
        setup.append(f"{name} = {text}" if whole else f"{name} = {operand(text)}.reshape(())")
        return name

    def _junction(self, node: ast.BoolOp, setup: list[str], word: str = "") -> str:
        """The conditions of an ``and`` or ``or`` (or of another `word`) as one boolean tensor."""
        for one in node.values:
            kind = self.kinds.of(one)
            if kind == "python" and (_guards(one) or hazards(self.source, one) or not self._is_flag(one)):
                word = word or ("or" if _is_or(node) else "and")
                raise Refused(f"`{render(self.source, one)}` is a Python test inside `{word}`; use a separate `if`.")
            if kind == "unknown":
                raise Refused(_UNCLEAR.format(render(self.source, one)))
        for one in node.values[1:]:
            self._refuse_hazards(one, later=True)
        for call in walk(node):
            if isinstance(call, ast.Call) and self._called(call) == "equal" and not same_shape(*self._pair(call)[:2]):
                raise Refused(f"`{render(self.source, call)}` also compares shapes; test it in its own `if`.")
        sign = " | " if isinstance(node.op, ast.Or) else " & "
        return sign.join(operand_of_junction(self._operand(one, setup)) for one in node.values)

    def _operand(self, node: ast.expr, setup: list[str]) -> str:
        """One operand as a bool: a tensor, or what Python asks for the truth of."""
        if self.kinds.of(node) == "python" and not self.kinds.is_bool(node):
            return f"bool({render(self.source, node)})"
        return self._boolean(node, setup)

    def _is_flag(self, node: ast.expr) -> bool:
        """Whether a Python operand has a truth that cannot fail: a bool, or an attribute or a name, asked for it."""
        return self.kinds.is_bool(node) or isinstance(node, (ast.Attribute, ast.Name))

    def _comparison(self, node: ast.Compare, setup: list[str]) -> str:
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self._membership(node, setup)
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            raise Refused(f"`{render(self.source, node)}` has no tensor form.")
        if empty := self.emptiness(node):
            return empty
        parts = [node.left, *node.comparators]
        reads = [one for one in parts if self._reads_data(one)]
        exact = len(reads) == 1 and all(exact_number(one) for one in parts if one not in reads)
        texts = [self._number(one, double=not exact) for one in parts]
        for index in range(1, len(parts) - 1):
            if not isinstance(parts[index], (ast.Name, ast.Constant)):
                name = self.fresh(name_for(texts[index]))
                setup.append(f"{name} = {texts[index]}")
                texts[index] = name
        pairs = [
            f"{operand_of_comparison(left)} {_COMPARISON[type(op)]} {operand_of_comparison(right)}"
            for left, op, right in zip(texts, node.ops, texts[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else " & ".join(f"({pair})" for pair in pairs)

    def _membership(self, node: ast.Compare, setup: list[str]) -> str:
        """``t in (0, 2)`` is ``(t == 0) | (t == 2)``."""
        looked = Membership(self.source, self.kinds, node)
        text = self._number(node.left)
        if not isinstance(node.left, ast.Name):
            name = self.fresh(name_for(text))
            setup.append(f"{name} = {text}")
            text = name
        found = looked.text(text, self.fresh, self.told)
        return found if isinstance(node.ops[0], ast.In) else f"~{found if is_atom(found) else f'({found})'}"

    def emptiness(self, node: ast.expr) -> str | None:
        """``len(t.nonzero()) > 0`` is ``t.any()``."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Gt, ast.NotEq)):
            return None
        zero = node.comparators[0]
        left = node.left
        if not (isinstance(zero, ast.Constant) and zero.value == 0 and isinstance(left, ast.Call) and left.args):
            return None
        inner = left.args[0]
        if not (is_builtin(self.source, left.func, "len") and isinstance(inner, ast.Call)):
            return None
        if self._called(inner) != "nonzero" or inner.keywords or len(self._pair(inner)) != 1:
            return None
        return f"{operand(render(self.source, self._pair(inner)[0]))}.any()"

    def _known_call(self, node: ast.Call, setup: list[str]) -> str | None:
        name = self._called(node)
        if name == "bool" and is_builtin(self.source, node.func, "bool") and len(node.args) == 1:
            return self._boolean(node.args[0], setup)
        if name == "equal" and len(self._pair(node)) == 2:
            left, right = self._pair(node)
            one, other = (operand_of_comparison(render(self.source, part)) for part in (left, right))
            return f"({one} == {other}).all()"
        if name == "allclose":
            exchange: dict[ast.AST, str] = {}
            if isinstance(node.func, ast.Attribute):
                exchange[node.func] = f"{render(self.source, node.func.value)}.isclose"
            else:
                raise Refused("`allclose` was imported by its own name; write `torch.allclose`.")
            return f"{render(self.source, node, exchange)}.all()"
        if name in ("any", "all") and is_builtin(self.source, node.func, name):
            return self._over_elements(node, name, setup)
        if name == "item" and isinstance(node.func, ast.Attribute):
            return self._boolean(node.func.value, setup)
        return None

    def _over_elements(self, node: ast.Call, name: str, setup: list[str]) -> str:
        """``any(v > 3 for v in x)`` is ``(x > 3).any()``, and ``any([a, b])`` is ``a | b``."""
        generator = node.args[0] if len(node.args) == 1 else None
        listed = generator.elts if isinstance(generator, (ast.List, ast.Tuple)) else []
        if len(listed) > 1 and not any(isinstance(one, ast.Starred) for one in listed):
            return self._junction(ast.BoolOp(ast.Or() if name == "any" else ast.And(), listed), setup, name)
        if isinstance(generator, (ast.GeneratorExp, ast.ListComp)) and len(generator.generators) == 1:
            part = generator.generators[0]
            plain = isinstance(part.target, ast.Name) and not part.ifs and not part.is_async
            if plain and isinstance(part.iter, (ast.Name, ast.Attribute)) and self._is_tensor(part.iter):
                element = generator.elt
                uses = [
                    one for one in walk(element)
                    if isinstance(one, ast.Name) and isinstance(part.target, ast.Name) and one.id == part.target.id
                ]  # fmt: skip
                simple = isinstance(element, ast.Compare) and len(element.ops) == 1
                if simple and len(uses) == 1 and self.source.parents.get(uses[0]) is element:
                    text = render(self.source, element, {uses[0]: render(self.source, part.iter)})
                    return f"({text}).{name}()"
            if plain and self.kinds.is_bool(generator.elt) and iterates_statically(self.source, part.iter):
                self._refuse_hazards(generator.elt, later=True)
                stack, added = spell(self.source, "torch.stack", node)
                if added is None:
                    over = render(self.source, part.iter)
                    self.told.append(f"`{over}` must have an element: `{name}` of nothing was {name == 'all'}.")
                    return f"{stack}([{_inner(render(self.source, generator))}]).{name}()"
        raise Refused(f"`{name}(...)` goes through its elements in Python; write it with `torch.{name}`.")

    def _is_tensor(self, node: ast.expr) -> bool:
        """Whether something that is iterated over is a tensor: known to be, or a number is added to it."""
        if self.kinds.of(node) == "tensor":
            return True
        function = self.source.function(node)
        return function is not None and any(
            isinstance(one, ast.BinOp)
            and isinstance(one.op, (ast.Add, ast.Sub, ast.Div))
            and ast.dump(one.left) == ast.dump(node)
            and isinstance(one.right, ast.Constant)
            and isinstance(one.right.value, (int, float))
            for one in walk(function)
        )

    def _number(self, node: ast.expr, double: bool = True) -> str:
        """The text of a number read from a tensor, as a tensor: ``t.item()`` is ``t``, exact as Python's float is."""
        exchange: dict[ast.AST, str] = {}
        for one in walk(node):
            if isinstance(one, ast.Call) and (inner := self._read(one)) is not None:
                text = operand(render(self.source, inner))
                integer = isinstance(one.func, ast.Name) and one.func.id == "int"
                bare = not double and one is node
                exchange[one] = f"{text}.long()" if integer else text if bare else f"{text}.double()"
        if exchange and node not in exchange and not _is_arithmetic(node, exchange):
            raise Refused(f"`{render(self.source, node)}` computes with a Python number that is read from a tensor.")
        return render(self.source, node, exchange)

    def _read(self, node: ast.Call) -> ast.expr | None:
        """The tensor that a call turns into a Python number (``t.item()``, ``float(t)``), else None."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
            return node.func.value
        number = any(is_builtin(self.source, node.func, name) for name in ("float", "int", "bool"))
        if number and len(node.args) == 1 and self.kinds.of(node.args[0]) == "tensor":
            inner = node.args[0]
            return (self._read(inner) or inner) if isinstance(inner, ast.Call) else inner
        return None

    def _reads_data(self, node: ast.expr) -> bool:
        return any(isinstance(one, ast.Call) and self._read(one) is not None for one in walk(node))

    def _refuse_hazards(self, node: ast.expr, later: bool = False) -> None:
        if later:
            self.told += [words_for_empty(self.source, call) for call in needing_elements(node)]
        for hazard in hazards(self.source, node):
            if later and hazard.kind == "raises":
                text = render(self.source, hazard.node)
                raise Refused(f"`{text}` {hazard.words}, and would be evaluated in every call.")
            if hazard.kind == "effect" or (hazard.kind == "random" and not self.allowed):
                raise Refused(f"The condition has an effect: `{render(self.source, hazard.node)}` {hazard.words}.")

    def _called(self, node: ast.Call) -> str:
        """The last part of the called name, when it is torch's, a builtin's or a method's."""
        name = dotted(self.source, node.func)
        if name is not None:
            return name.rpartition(".")[2] if name.startswith("torch.") else ""
        return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")

    def _pair(self, node: ast.Call) -> list[ast.expr]:
        """The operands of ``torch.equal(a, b)`` and of ``a.equal(b)``."""
        if dotted(self.source, node.func) is None and isinstance(node.func, ast.Attribute):
            return [node.func.value, *node.args]
        return list(node.args)


_UNCLEAR = "GraphMend cannot tell whether `{}` is a tensor or a Python value."
_COMPARISON: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def _is_or(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)


def _guards(node: ast.AST) -> bool:
    """Whether a Python test protects what follows it (``p is None``, ``isinstance``, ``hasattr``)."""
    return any(
        (isinstance(one, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in one.ops))
        or (isinstance(one, ast.Name) and one.id in ("isinstance", "hasattr", "len", "callable"))
        or (isinstance(one, ast.Attribute) and one.attr in ("shape", "ndim", "size", "dim", "numel"))
        for one in walk(node)
    )


def _is_arithmetic(node: ast.AST, leaves: dict[ast.AST, str]) -> bool:
    """Whether a node is only ``+``, ``-``, ``*`` of the leaves and of names, attributes and constants."""
    if node in leaves or isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return _is_arithmetic(node.left, leaves) and _is_arithmetic(node.right, leaves)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_arithmetic(node.operand, leaves)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "abs"


def _inner(text: str) -> str:
    """The text of a comprehension without brackets around it."""
    return text[1:-1] if text[:1] in "([" and text[-1:] in ")]" else text
