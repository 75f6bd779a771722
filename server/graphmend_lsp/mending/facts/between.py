"""What a call may do that stands between the place of a statement and the place that it is moved to.

Whether it may draw random numbers or store something, change what it is given in place, or say something itself. Layers of
`torch.nn` are known by their names; functions, methods and classes of the file are read; what is not known may do
everything. Pure reading; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.mending.facts.effects import effect_of, own_nodes
from graphmend_lsp.mending.facts.gradients import loses_gradients
from graphmend_lsp.mending.facts.purity import (
    TENSOR_METHODS,
    hazards,
    may_ask_for_gradients,
    needing_elements,
    with_history,
    words_for_empty,
    words_for_history,
)
from graphmend_lsp.mending.syntax.branches import returns
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption

Act = Literal["trace", "change", "speech", "foreign speech"]
"""Random numbers and stores; a change of what is given; a text; a text from outside of the file."""

_PURE_BUILTINS = frozenset((
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "getattr", "hasattr", "id", "int",
    "isinstance", "len", "list", "max", "min", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum",
    "super", "tuple", "type", "zip",
))  # fmt: skip
_DETACHED = "A side that is detached gives a tensor without a gradient; the chosen side may need a gradient."
_HOLDERS = frozenset(("Sequential", "ModuleList", "ModuleDict"))
_READING = frozenset(("items", "keys", "values", "get", "format", "join", "startswith", "endswith", "index", "count"))
_RANDOM = frozenset((
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "FractionalMaxPool2d",
    "FractionalMaxPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LSTM", "GRU", "RNN", "Transformer",
    "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer", "TransformerDecoderLayer", "MultiheadAttention",
))  # fmt: skip
"""Layers that draw random numbers or keep statistics, in training."""


_BARE = frozenset((
    "ReLU", "ReLU6", "LeakyReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Tanh", "Sigmoid", "Softmax", "LogSoftmax",
    "Softplus", "Softsign", "Hardtanh", "Hardswish", "Hardsigmoid", "Hardshrink", "Softshrink", "Tanhshrink", "Threshold",
    "Identity", "Flatten", "Unflatten", "Upsample", "PixelShuffle", "PixelUnshuffle", "Fold", "Unfold", "GLU", "LogSigmoid",
    "CosineSimilarity", "PairwiseDistance", "ChannelShuffle", "UpsamplingNearest2d", "UpsamplingBilinear2d",
))  # fmt: skip
"""Layers without parameters."""


@dataclass(frozen=True, slots=True)
class Between:
    """The calls of a stretch of the program, judged."""

    source: Source

    def first(self, nodes: list[ast.stmt], act: Act) -> ast.AST | None:
        """The first call or store in statements that may act so; None where there is none."""
        return next((one for node in nodes for one in self._acting(node, act, frozenset())), None)

    def acts(self, call: ast.Call, act: Act) -> bool:
        """Whether one call may act so."""
        return self._acts(call, act, frozenset())

    def is_method(self, call: ast.Call) -> bool:
        """Whether a call is one of a method of the class around it, or of one that it may inherit."""
        owner = self.source.owner(call)
        if owner is None or not is_own(call.func) or not isinstance(call.func, ast.Attribute):
            return False
        return not values_of(owner, call.func.attr)

    def trains(self, call: ast.Call) -> bool:
        """Whether a call runs a submodule that may have parameters."""
        owner = self.source.owner(call)
        if not is_own(call.func) or owner is None or not isinstance(call.func, ast.Attribute):
            return False
        if self._functions(owner.body, call.func.attr):
            return False
        made = values_of(owner, call.func.attr)
        return not made or not all(self._without_parameters(one) for one in made)

    def _without_parameters(self, value: ast.expr) -> bool:
        name = dotted(self.source, value.func) or "" if isinstance(value, ast.Call) else ""
        if not isinstance(value, ast.Call) or not name.startswith("torch.nn."):
            return False
        last = name.rpartition(".")[2]
        if last in _HOLDERS:
            return all(self._without_parameters(one) for one in value.args)
        return last in _BARE or "Pool" in last or "Dropout" in last or "Loss" in last or "Pad" in last

    def _acting(self, node: ast.AST, act: Act, seen: frozenset[Function]) -> Iterator[ast.AST]:
        for one in walk(node):
            said = act == "speech" and effect_of(self.source, one) is not None
            if said or (isinstance(one, ast.Call) and self._acts(one, act, seen)):
                yield one

    def _acts(self, call: ast.Call, act: Act, seen: frozenset[Function]) -> bool:
        name = dotted(self.source, call.func)
        if name is not None and name.startswith(("torch.", "math.")):
            kinds = {hazard.kind for hazard in hazards(self.source, call) if hazard.node is call}
            return act == "trace" and "random" in kinds
        if isinstance(call.func, ast.Name):
            if any(is_builtin(self.source, call.func, one) for one in _PURE_BUILTINS if one == call.func.id):
                return False
            if is_builtin(self.source, call.func, "print") or dotted(self.source, call.func) is not None:
                return act == "trace" and call.func.id != "print"  # a text of its own is seen as such
            if (layers := _loop_over(self.source, call.func)) is not None:
                owner = self.source.owner(call)
                return owner is None or self._module_acts(owner, layers, act, seen)
            local = self._functions(self.source.tree.body, call.func.id)
            return self._any(local, act, seen) if local else True
        if isinstance(call.func, ast.Attribute):
            return self._method_acts(call.func, act, seen)
        return True

    def _method_acts(self, called: ast.Attribute, act: Act, seen: frozenset[Function]) -> bool:
        owner = self.source.owner(called)
        own = isinstance(called.value, ast.Name) and called.value.id == "self" and owner is not None
        if not own or owner is None:
            if called.attr in TENSOR_METHODS or (called.attr.endswith("_") and not called.attr.endswith("__")):
                return False  # changes in place of a name are seen by the text
            return not (
                act == "speech" and called.attr in ("append", "extend", "items", "keys", "values", "get", "update")
            )
        methods = self._functions(owner.body, called.attr)
        if methods:
            return self._any(methods, act, seen)
        return self._module_acts(owner, called.attr, act, seen)

    def _module_acts(self, owner: ast.ClassDef, attribute: str, act: Act, seen: frozenset[Function]) -> bool:
        if act in ("speech", "foreign speech"):
            return True  # a hook of it may speak, or another module that is put in its place
        made = values_of(owner, attribute)
        return not made or any(self._made_acts(one, act, seen) for one in made)

    def _made_acts(self, value: ast.expr, act: Act, seen: frozenset[Function]) -> bool:
        """Whether calling a module that is made so may act."""
        if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            return self._made_acts(value.elt, act, seen)
        if isinstance(value, (ast.List, ast.Tuple)):
            return any(self._made_acts(one, act, seen) for one in value.elts)
        if not isinstance(value, ast.Call):
            return True
        name = dotted(self.source, value.func) or ""
        last = name.rpartition(".")[2]
        if name.startswith("torch.nn.") and last in _HOLDERS:
            return any(
                self._made_acts(one.value if isinstance(one, ast.Starred) else one, act, seen) for one in value.args
            )
        if name.startswith("torch.nn."):
            if act == "trace":
                return last in _RANDOM
            return not all(_is_off(one) for one in value.keywords if one.arg in ("inplace", None)) or _in_place(
                last, value
            )
        if isinstance(value.func, ast.Name):
            classes = [
                one for one in self.source.tree.body if isinstance(one, ast.ClassDef) and one.name == value.func.id
            ]
            forward = [one for home in classes for one in self._functions(home.body, "forward")]
            return self._any(forward, act, seen) if forward else True
        return True

    def _any(self, functions: list[Function], act: Act, seen: frozenset[Function]) -> bool:
        return any(self._function_acts(one, act, seen) for one in functions if one not in seen)

    def _function_acts(self, function: Function, act: Act, seen: frozenset[Function]) -> bool:
        if act in ("trace", "change") and any(_stores(one, act) for one in own_nodes(function)):
            return True
        inside = seen | {function}
        return any(True for one in function.body for _ in self._acting(one, act, inside))

    def _functions(self, block: list[ast.stmt], name: str) -> list[Function]:
        return [one for one in block if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name == name]


def both_sides(source: Source, at: ast.AST) -> list[Assumption]:
    """What is taken for granted where the calls of both sides of a branch are made in every call of the program."""
    then, other = list[ast.AST](), list[ast.AST]()
    if isinstance(at, ast.If):
        then, other = [*at.body], [*at.orelse]
        other += source.after(at) if returns(at.body) and not at.orelse else ()
    elif isinstance(at, ast.IfExp):
        then, other = [at.body], [at.orelse]
    judged = Between(source)
    sides = [{ast.dump(one.func): one for one in _calls(side)} for side in (then, other)]
    alone = [call for side, against in (sides, sides[::-1]) for key, call in side.items() if key not in against]
    found: list[Assumption] = []
    trained = [call for call in alone if judged.trains(call)]
    if trained:
        words = f"gradients of zeros may stand for none, in `{source.code(trained[0].func)}`"
        found.append(Assumption("zero-gradients", words, tuple((source.path, source.span(one)) for one in trained)))
    acting = [call for call in alone if is_own(call.func) and judged.acts(call, "trace")]
    if acting:
        words = f"`{source.code(acting[0])}` stores nothing and draws no random number"
        found.append(Assumption("inside-effects", words, tuple((source.path, source.span(one)) for one in acting)))
    return found


def told_of_sides(source: Source, at: ast.AST) -> tuple[str, ...]:
    """What both sides may do in calls that took one of them: raise for nothing to look at, ask for a gradient."""
    sides: list[ast.AST] = []
    if isinstance(at, ast.If):
        sides += [*at.body, *at.orelse, *(source.after(at) if returns(at.body) else ())]
    elif isinstance(at, ast.IfExp):
        sides += [at.body, at.orelse]
    elif isinstance(at, ast.BoolOp):
        sides += at.values[1:]
    told = [words_for_empty(source, call) for side in sides for call in needing_elements(side)]
    if any(loses_gradients(side) for side in sides):
        told.append(_DETACHED)
    told += map(words_for_history, _set_on_one_side(source, at))
    return tuple(told)


def _set_on_one_side(source: Source, at: ast.AST) -> list[str]:
    """The attributes that get a history of gradients on one side only."""
    if isinstance(at, ast.If):
        one, other = with_history(source, at.body), with_history(source, at.orelse)
        return [name for name in (*one, *other) if name not in one or name not in other]
    if isinstance(at, ast.IfExp) and may_ask_for_gradients(source, at.body) == may_ask_for_gradients(source, at.orelse):
        return []
    return with_history(source, [source.statement(at) or at])


def _loop_over(source: Source, name: ast.Name) -> str | None:
    """The attribute of ``self`` that a loop goes over with a name: ``for layer in self.layers``."""
    for one in source.ancestors(name):
        if isinstance(one, (ast.For, ast.comprehension)) and name.id in assigned(one.target):
            for part in (one.iter, *(one.iter.args if isinstance(one.iter, ast.Call) else ())):
                if isinstance(part, ast.Attribute) and is_own(part):
                    return part.attr
    return None


def values_of(owner: ast.ClassDef, attribute: str) -> list[ast.expr]:
    """What a class stores in an attribute of its own."""
    return [
        one.value
        for one in walk(owner)
        if isinstance(one, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == attribute for t in one.targets)
    ]


def _calls(side: list[ast.AST]) -> list[ast.Call]:
    return [one for part in side for one in walk(part) if isinstance(one, ast.Call)]


def is_own(called: ast.expr) -> bool:
    """Whether what is called is ``self.name``."""
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "self"


def _stores(node: ast.AST, act: Act) -> bool:
    """Whether a node of a function stores in what outlives it, or changes in place what it may have been given."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        return True
    if act == "change" and isinstance(node, ast.AugAssign):
        return True
    method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    changes = method.endswith("_") and not method.endswith("__")
    return changes or method in ("append", "extend", "insert", "update", "pop", "clear", "setdefault", "add", "remove")


def _is_off(keyword: ast.keyword) -> bool:
    return keyword.arg is not None and isinstance(keyword.value, ast.Constant) and not keyword.value.value


def _in_place(name: str, made: ast.Call) -> bool:
    """Whether an activation gets `inplace` by place: ``nn.ReLU(flag)``."""
    first = {"ReLU": 0, "ReLU6": 0, "SELU": 0, "SiLU": 0, "Mish": 0, "Hardswish": 0, "Hardsigmoid": 0, "CELU": 1, "ELU": 1,
             "LeakyReLU": 1, "Dropout": 1, "Dropout2d": 1, "Threshold": 2, "RReLU": 2, "Hardtanh": 2}.get(name)  # fmt: skip
    given = made.args[first : first + 1] if first is not None else []
    return any(not (isinstance(one, ast.Constant) and not one.value) for one in given)
