"""What torch keeps in one graph as a separate function may hold: a side of ``torch.cond``, an iteration of ``torch.while_loop``.

Such a region only computes: no effect, no random number, no change in place, no second test of a tensor. Pure reading of
`Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import KEEPERS
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import operator_of_method
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.formatting import first_line, render
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk

_LOGGING = frozenset(("log", "debug", "info", "warning", "error", "write", "put", "pop", "remove", "clear", "discard"))


@dataclass(frozen=True, slots=True)
class Region:
    """What refuses statements and values of a region. `word` is what it is called, `operator` what holds it.

    `draws` says what the operator does to random numbers.
    """

    source: Source
    kinds: Kinds
    word: str = "a side"
    operator: str = "torch.cond"
    draws: str = "draws others for the gradient"

    @property
    def _subject(self) -> str:
        return self.word[:1].upper() + self.word[1:]

    def refuse_statement(self, one: ast.stmt, block: Sequence[ast.stmt]) -> None:
        """Refuse a statement of a region, of which `block` are all (or those of the loop around it).

        Raises:
            Refused: with the reason.
        """
        line = first_line(self.source, one)
        if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            for target in targets:
                parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                if not all(isinstance(part, ast.Name) for part in parts):
                    raise Refused(
                        f"`{line}` changes what is outside of {self.word}; `{self.operator}` only gives values back."
                    )
            if isinstance(one, ast.AugAssign) and not _made_before(block, one):
                raise Refused(f"`{line}` changes a tensor in place; write it as an assignment of a new value.")
            if one.value is not None:
                self._refuse_inside(one.value)
        elif isinstance(one, ast.Return):
            if one.value is None:
                raise Refused(f"{self._subject} returns nothing.")
            self.refuse_value(one.value)
        elif isinstance(one, ast.For):
            self._refuse_inside(one.iter)
            for inner in (*one.body, *one.orelse):
                self.refuse_statement(inner, one.body)
        elif isinstance(one, ast.If):
            if self.kinds.of(one.test) == "tensor":
                raise Refused(self._second_test(one.test))
            self._refuse_inside(one.test)
            for inner in (*one.body, *one.orelse):
                self.refuse_statement(inner, block)
        elif isinstance(one, (ast.Break, ast.Continue)):
            if not any(isinstance(each, ast.For) and each in nodes_of(block) for each in self.source.ancestors(one)):
                raise Refused(f"{self._subject} leaves a loop; when it does depends on data.")
        elif not (isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))):
            raise Refused(f"{self._subject} contains `{line}`; {self._only_computes}.")

    def refuse_value(self, node: ast.expr) -> None:
        """Refuse what is surely no tensor, or has an effect or chance in it.

        Raises:
            Refused: with the reason.
        """
        text = render(self.source, node)
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        for part in parts:
            listed = isinstance(part, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
            if listed or self.kinds.of(part) == "python":
                raise Refused(
                    f"{self._subject} gives `{render(self.source, part)}`, which is no tensor; `{self.operator}` gives "
                    "tensors only."
                )
        for one in walk(node):
            if isinstance(one, ast.IfExp) and self.kinds.of(one.test) == "tensor":
                raise Refused(self._second_test(node))
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                if one.func.id in ("locals", "super", "print"):
                    raise Refused(
                        f"`{render(self.source, one)}` means something else, or is lost, inside `{self.operator}`."
                    )
                if self._is_conversion(one):
                    raise Refused(self._number(text))
            if isinstance(one, ast.Attribute) and one.attr in ("item", "tolist") and self.source.code(node):
                raise Refused(self._number(text))
        for hazard in hazards(self.source, node):
            words = f"`{render(self.source, hazard.node)}` {hazard.words}"
            if hazard.kind == "random":
                raise Refused(f"{words}; `{self.operator}` {self.draws}.")
            if hazard.kind == "effect" and not _may_be_module(hazard.node):
                raise Refused(f"{words}; {self._only_computes}.")

    def _refuse_inside(self, value: ast.expr) -> None:
        """The same for a value that stays inside its region: it may be a Python value."""
        if self.kinds.of(value) == "python":
            for hazard in hazards(self.source, value):
                if hazard.kind in ("effect", "random") and not _may_be_module(hazard.node):
                    raise Refused(f"`{render(self.source, hazard.node)}` {hazard.words}; {self._only_computes}.")
            return
        plain = value.elts if isinstance(value, ast.Tuple) else [value]
        for part in plain:
            if self.kinds.of(part) != "python":
                self.refuse_value(part)

    def _is_conversion(self, call: ast.Call) -> bool:
        """Whether a call is ``float(t)`` of a tensor, or the like."""
        return any(is_builtin(self.source, call.func, name) for name in ("float", "int", "bool")) and any(
            self.kinds.of(one) == "tensor" for one in call.args
        )

    @property
    def _only_computes(self) -> str:
        return f"{self.word} of `{self.operator}` may only compute"

    def _second_test(self, node: ast.expr) -> str:
        text = render(self.source, node)
        return f"{self._subject} tests a tensor again, in `{text}`; `{self.operator}` cannot hold a second break."

    def _number(self, text: str) -> str:
        return (
            f"{self._subject} reads a number from a tensor, in `{text}`; `{self.operator}` cannot hold a second break."
        )


def calls_own(source: Source, node: ast.AST) -> bool:
    """Whether a node calls something of ``self``, or what a loop takes from it: a submodule, or a method of the class."""
    return any(
        isinstance(one, ast.Call)
        and (
            _is_own(one.func) or any(hazard.kind == "compute" and hazard.node is one for hazard in hazards(source, one))
        )
        for one in walk(node)
    )


def alias(node: ast.expr) -> bool:
    """Whether an expression may be a tensor that there is already, or a view of it, which no region may give."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = operator_of_method(node.func.attr)
        return method is not None and not method.is_new
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def assigned_in(block: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that the statements of a region give a value."""
    return frozenset(name for one in block for name in assigned(one))


def reads_first(block: Sequence[ast.stmt], name: str) -> bool:
    """Whether a region may read a name before it has given it a value."""
    for one in block:
        if isinstance(one, ast.For):
            if name in loaded(one.iter) or (name not in assigned(one.target) and reads_first(one.body, name)):
                return True
        elif isinstance(one, ast.If):
            if name in loaded(one.test) or reads_first(one.body, name) or reads_first(one.orelse, name):
                return True
            if one.orelse and name in assigned_in(one.body) & assigned_in(one.orelse):
                return False
        elif isinstance(one, ast.AugAssign) and name in assigned(one.target):
            return True
        elif isinstance(one, (ast.Assign, ast.AnnAssign)):
            if one.value is not None and name in loaded(one.value):
                return True
            if name in assigned(one):
                return False
        elif name in loaded(one):
            return True
    return False


def nodes_of(block: Sequence[ast.stmt]) -> list[ast.AST]:
    """Every node of a region's statements."""
    return [node for one in block for node in walk(one)]


def _made_before(block: Sequence[ast.stmt], one: ast.AugAssign) -> bool:
    """Whether the region gives the name a value before it changes what the name holds."""
    if not isinstance(one.target, ast.Name) or one not in block:
        return False
    before = block[: list(block).index(one)]
    return any(
        isinstance(earlier, ast.Assign)
        and not alias(earlier.value)
        and any(isinstance(target, ast.Name) and target.id == one.target.id for target in earlier.targets)
        for earlier in before
    )


def _may_be_module(node: ast.AST) -> bool:
    """Whether a call of which nothing is known is one of something that ``self`` has, by a name that only computes."""
    return isinstance(node, ast.Call) and _is_own(node.func)


def _is_own(function: ast.expr) -> bool:
    """Whether what is called is reached from ``self``: ``self.layers[0]``, ``self.block.attention``."""
    if isinstance(function, ast.Attribute) and (
        function.attr in KEEPERS or function.attr in _LOGGING or function.attr.endswith("_")
    ):
        return False
    one: ast.expr = function
    while isinstance(one, (ast.Attribute, ast.Subscript)):
        one = one.value
    return one is not function and isinstance(one, ast.Name) and one.id == "self"
