"""What running an expression could do besides giving a value: effects, random numbers, errors that depend on data.

What the table of operators lacks counts as an effect. Nothing here runs code, and no rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.mending.facts.operators import (
    METHODS,
    Operator,
    is_computed,
    operator_of_attribute,
    operator_of_builtin,
    operator_of_function,
    operator_of_method,
)
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.facts.static_loops import is_in_range
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk

Kind = Literal["effect", "random", "raises", "compute"]

_EFFECT_PACKAGES = (
    "torch.autograd", "torch.cuda", "torch.distributed", "torch.jit", "torch.optim", "torch.utils", "torch.library",
    "torch.compiler", "torch.random", "torch.multiprocessing", "torch.onnx", "torch.profiler", "torch._dynamo",
    "torch.nn.init", "torch.serialization", "torch.backends", "torch.ops",
)  # fmt: skip
_PURE_EXCEPTIONS = frozenset((
    "torch.cuda.is_available", "torch.compiler.is_compiling", "torch.jit.is_scripting", "torch.finfo", "torch.iinfo",
    "torch.device", "torch.distributions.utils.broadcast_all", "torch.jit.is_tracing", "torch.compiler.is_dynamo_compiling",
    "torch.compiler.is_exporting", "torch.cuda.is_current_stream_capturing", "torch.xpu.is_current_stream_capturing",
))  # fmt: skip
_TRUSTED_BUILTINS = frozenset(["any", "all", "bool", "complex", "float", "getattr", "int", "len", "max", "min", "sum"])
"""What they raise for is text, another kind of object, or nothing at all."""

_PURE_PACKAGES = ("torch.fft", "torch.special")

TENSOR_METHODS = frozenset(name for name, one in METHODS.items() if not (one.effect or one.random))
"""Methods of a tensor that only compute."""

_OTHER_METHODS = ("get", "keys", "items", "startswith", "endswith", "lower", "upper", "format", "strip", "count")


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something an expression may do. `words` finish the sentence "``code`` ..." for the user."""

    kind: Kind
    node: ast.AST
    words: str


def hazards(source: Source, node: ast.AST) -> tuple[Hazard, ...]:
    """Everything in an expression that is more than a value, in the order of the text."""
    found = [one for part in _run(source, node) for one in _of_node(source, part)]
    return tuple(sorted(found, key=lambda one: source.range(one.node)))


def _run(source: Source, node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it; but not what a failing check alone runs."""
    yield node
    checks = isinstance(node, ast.Call) and (dotted(source, node.func) or "").endswith(f"{SUPPORT}.check")
    for child in ast.iter_child_nodes(node):
        if not (checks and isinstance(child, ast.Lambda)):
            yield from _run(source, child)


def is_neutral(source: Source, node: ast.AST) -> bool:
    """Whether an expression has no effect, draws no random number and raises no error that depends on data."""
    return not hazards(source, node)


def _of_node(source: Source, node: ast.AST) -> Iterator[Hazard]:
    if isinstance(node, ast.Call):
        yield from _of_call(source, node)
    elif isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
        yield Hazard("effect", node, "suspends the function")
    elif isinstance(node, ast.NamedExpr):
        yield Hazard("effect", node, "assigns a name")
    elif (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and not (_safe_index(node.slice) or is_in_range(source, node))
    ):
        yield Hazard("raises", node, "may raise for an index out of range")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
        numbers = _is_number(source, node.left) and _is_number(source, node.right)
        constant = isinstance(node.right, ast.Constant) and bool(node.right.value)
        if numbers and not constant:
            yield Hazard("raises", node, "may divide Python numbers by zero")
        elif not isinstance(node.op, ast.Div) and not constant and not _is_shape(node.right):
            text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
            yield Hazard("raises", node, "formats text" if text else "may divide integers by zero")


def _of_call(source: Source, node: ast.Call) -> Iterator[Hazard]:
    name = dotted(source, node.func)
    if name is not None:
        yield from _of_known(node, name)
    elif isinstance(node.func, ast.Name):
        if _is_own_module(source, node.func):
            yield Hazard("compute", node, "is computed in every call")
        else:
            yield from _of_builtin(node, operator_of_builtin(_builtin(source, node.func)))
    elif isinstance(node.func, ast.Attribute):
        yield from _of_method(node, node.func)
    elif _is_given_module(source, node.func):
        yield Hazard("compute", node, "is computed in every call")
    else:
        yield Hazard("effect", node, "calls something whose effects are not known")


def _is_given_module(source: Source, callee: ast.expr) -> bool:
    """Whether what is called is a module that a method of ``self`` gave: ``self.get_input_embeddings()(ids)``."""
    if not isinstance(callee, ast.Call) or not isinstance(callee.func, ast.Attribute):
        return False
    seen = Seen(source)
    fact = seen.of(callee)
    if not _through_self(callee.func) or fact is None or fact.kinds != ("module",):
        return False
    seen.believe(callee, "a module")
    return True


def _is_own_module(source: Source, name: ast.Name) -> bool:
    """Whether a name is the variable of a loop over ``self.layers``: then calling it is calling a submodule."""
    for one in source.ancestors(name):
        if isinstance(one, (ast.For, ast.comprehension)) and name.id in assigned(one.target):
            parts = [one.iter, *(one.iter.args if isinstance(one.iter, ast.Call) else ())]
            return any(
                isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
                for part in parts
            )
    return False


def _builtin(source: Source, name: ast.Name) -> str:
    return name.id if is_builtin(source, name, name.id) else ""


def _of_builtin(node: ast.Call, operator: Operator | None) -> Iterator[Hazard]:
    if operator is None or operator.effect:
        yield Hazard("effect", node, "calls a function whose effects are not known")
    elif operator.raises and operator.name not in _TRUSTED_BUILTINS:
        yield Hazard("raises", node, "may raise for values out of range")


def _of_known(node: ast.Call, name: str) -> Iterator[Hazard]:
    if name == "torch" or name.startswith("torch."):
        yield from _of_torch(node, name)
    elif name.startswith("math."):
        total = ("isnan", "isinf", "isfinite", "prod", "ceil", "floor", "fabs")
        if name.rpartition(".")[2] not in total and not _is_computed(node, name):
            yield Hazard("raises", node, "may raise for values outside its domain")
    elif name.endswith(f"{SUPPORT}.check"):
        yield Hazard("raises", node, "raises when the check fails")
    elif not (name.startswith(("functools.reduce", "operator.", "typing.cast")) or _is_computed(node, name)):
        yield Hazard("effect", node, "calls a function whose effects are not known")


def _of_torch(node: ast.Call, name: str) -> Iterator[Hazard]:
    home, _, last = name.rpartition(".")
    operator = operator_of_function(name)
    if name in _PURE_EXCEPTIONS:
        return
    if operator is not None and operator.random and _draws(node, operator):
        yield Hazard("random", node, "draws random numbers")
    elif last.endswith("_") or any(one.arg == "out" for one in node.keywords) or _keyword_true(node, "inplace"):
        yield Hazard("effect", node, "changes a tensor in place")
    elif operator is not None:
        if operator.effect and not _leaves_statistics(node, last):
            yield Hazard("effect", node, "has effects besides its value")
        elif _raises_on_data(node, operator):
            yield Hazard("raises", node, "may raise for values out of range")
    elif home in _PURE_PACKAGES:
        return
    elif last[:1].isupper():
        if name not in ("torch.Size", "torch.Tensor"):
            yield Hazard("effect", node, "creates an object")
    elif name.startswith(tuple(f"{one}." for one in _EFFECT_PACKAGES)):
        yield Hazard("effect", node, "has effects besides its value")
    else:
        yield Hazard("effect", node, "calls a function whose effects are not known")


def _draws(node: ast.Call, operator: Operator) -> bool:
    """Whether a function that can draw random numbers does: dropout that is not off."""
    if operator.name == "scaled_dot_product_attention":
        given = [*node.args[4:5], *(one.value for one in node.keywords if one.arg in ("dropout_p", None))]
        return any(not (isinstance(one, ast.Constant) and not one.value) for one in given)
    return not _is_off(node)


def _leaves_statistics(node: ast.Call, name: str) -> bool:
    """Whether a normalization surely has no running statistics that it changes."""
    given = {one.arg: one.value for one in node.keywords}
    if None in given or any(isinstance(one, ast.Starred) for one in node.args):
        return False
    if name == "instance_norm":
        return len(node.args) < 2 and "running_mean" not in given
    training = node.args[5] if len(node.args) > 5 else given.get("training", ast.Constant(False))
    return name == "batch_norm" and isinstance(training, ast.Constant) and not training.value


def _of_method(node: ast.Call, function: ast.Attribute) -> Iterator[Hazard]:
    name = function.attr
    operator = operator_of_method(name)
    if _through_self(function):
        yield Hazard("compute", node, "is computed in every call")
    elif operator is not None and operator.random:
        yield Hazard("random", node, "draws random numbers")
    elif name.endswith("_") and not name.endswith("__"):
        yield Hazard("effect", node, "changes a tensor in place")
    elif operator is not None:
        if operator.effect:
            yield Hazard("effect", node, "has effects besides its value")
        elif _raises_on_data(node, operator):
            yield Hazard("raises", node, "may raise for values out of range")
    elif name not in _OTHER_METHODS:
        yield Hazard("effect", node, "calls a method whose effects are not known")


def _through_self(function: ast.Attribute) -> bool:
    """Whether it is ``self.name(...)`` and not a method of a tensor: a submodule or a method of the class."""
    return isinstance(function.value, ast.Name) and function.value.id == "self"


def _raises_on_data(node: ast.Call, operator: Operator) -> bool:
    rounded = any(one.arg == "rounding_mode" and not _is_none(one.value) for one in node.keywords)
    if rounded and operator.name in ("div", "divide", "div_", "divide_"):
        return True  # of integers by zero
    sizes = operator.form == "makes" or operator.name == "repeat_interleave"
    at_fault = _by_singular_values(node, operator) if operator.name == "norm" else operator.raises
    return at_fault and not (sizes and _size_arguments_are_safe(node))


def _by_singular_values(node: ast.Call, operator: Operator) -> bool:
    """Whether a norm may be of a matrix (``"nuc"``, `torch.linalg.norm` with an order), which raises for elements not finite."""
    if operator.raises:
        return len(node.args) > 1 or any(one.arg in ("ord", None) for one in node.keywords)
    return any(isinstance(getattr(one, "value", None), str) for one in walk(node))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _size_arguments_are_safe(node: ast.Call) -> bool:
    """Whether sizes and bounds are constants, shapes or sizes: then no value of a tensor can make the call raise."""
    return all(_is_shape(argument) for argument in node.args)


def _is_shape(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "ndim")
    if isinstance(node, ast.Subscript):
        return _is_shape(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("size", "dim", "numel")
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(_is_shape(one) for one in node.elts)
    return False


def _safe_index(index: ast.AST) -> bool:
    """Whether an index cannot be out of range because of data: slices, None, ``...`` and constants."""
    if isinstance(index, (ast.Slice, ast.Constant)):
        return True
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        return isinstance(index.operand, ast.Constant)
    if isinstance(index, ast.Tuple):
        return all(_safe_index(one) for one in index.elts)
    return False


def _is_computed(call: ast.Call, name: str) -> bool:
    return not call.keywords and is_computed(name, call.args)


def _is_number(source: Source, node: ast.AST) -> bool:
    """Whether an expression is surely a Python number: the result of ``len``, ``int``, a constant, a size."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    if isinstance(node, ast.Call):
        return any(is_builtin(source, node.func, name) for name in ("len", "int", "float", "round", "ord"))
    return isinstance(node, ast.BinOp) and _is_number(source, node.left) and _is_number(source, node.right)


def _keyword_true(node: ast.Call, name: str) -> bool:
    return any(
        one.arg == name and not (isinstance(one.value, ast.Constant) and not one.value.value) for one in node.keywords
    )


def _is_off(node: ast.Call) -> bool:
    """Whether a dropout call says ``training=False`` or ``p=0``."""
    return any(
        one.arg in ("training", "p") and isinstance(one.value, ast.Constant) and not one.value.value
        for one in node.keywords
    )


def needing_elements(node: ast.AST) -> list[ast.Call]:
    """The calls in an expression or statement that raise for a tensor without elements, by their names."""
    return [
        one
        for one in walk(node)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and (operator := operator_of_method(one.func.attr)) is not None
        and operator.nonempty
        and not (one.func.attr in ("max", "min") and len(one.args) == 2)  # of two tensors, element by element
    ]


_AS_SAID = frozenset(("to", "type", "cuda", "cpu", "type_as", "view_as", "expand_as", "reshape_as"))
"""Methods whose arguments say a dtype, a device or a shape, and pass no gradient on."""


def may_ask_for_gradients(source: Source, value: ast.expr) -> bool:
    """Whether the value of an expression may have a gradient of what the function is given.

    As far as its text and what stands around it tell. What only comes of ``self`` has the same in every call.
    """
    for around in source.ancestors(value):
        calls = [item.context_expr for item in around.items] if isinstance(around, ast.With) else []
        calls += around.decorator_list if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
        if any(source.code(one).split("(")[0].split(".")[-1] in ("no_grad", "inference_mode") for one in calls):
            return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        name = dotted(source, value.func)
        operator = operator_of_function(name) if name is not None else operator_of_method(value.func.attr)
        if operator is None or operator.effect or any(one.arg in (None, "requires_grad") for one in value.keywords):
            return True
        own = [] if name is not None else [value.func.value]
        given = (
            own if own and value.func.attr in _AS_SAID else [*own, *value.args, *(one.value for one in value.keywords)]
        )
        return operator.carries_gradient and any(may_ask_for_gradients(source, one) for one in given)
    if isinstance(value, ast.Attribute):
        read = operator_of_attribute(value.attr)
        python = dotted(source, value) is not None or (read is not None and not read.is_tensor)
        return not (python or (isinstance(value.value, ast.Name) and value.value.id == "self"))
    if isinstance(value, ast.BinOp):
        return may_ask_for_gradients(source, value.left) or may_ask_for_gradients(source, value.right)
    if isinstance(value, ast.UnaryOp):
        return not isinstance(value.op, ast.Not) and may_ask_for_gradients(source, value.operand)
    return not isinstance(value, (ast.Constant, ast.Compare, ast.List, ast.Dict))


def words_for_empty(source: Source, call: ast.Call) -> str:
    """What to tell of such a call that is made in every call of the program."""
    return f"`{source.code(call)}` raises for a tensor without elements, and is evaluated in every call."


def with_history(source: Source, statements: Iterable[ast.AST]) -> list[str]:
    """The attributes, as they are written, in which statements may put what has a history of gradients."""
    found: dict[str, None] = {}
    for one in (one for statement in statements for one in walk(statement)):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AugAssign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and may_ask_for_gradients(source, one.value):  # type: ignore[attr-defined]
                found[source.code(target)] = None
    return list(found)


def words_for_history(attribute: str) -> str:
    """What to tell of an attribute that is set where it would be left alone."""
    return f"`{attribute}` keeps its gradient history also in calls that leave it as it was; store a detached value."


def comes_first(source: Source, statement: ast.stmt, target: ast.expr) -> bool:
    """Whether nothing with an effect stands left of an expression in its statement."""
    if not isinstance(statement, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign, ast.AnnAssign)):
        return False
    start, _ = source.range(target)
    return not any(
        isinstance(node, (ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp))
        and not isinstance(getattr(node, "ctx", None), ast.Store)
        and source.range(node)[0] < start
        and hazards(source, node)
        for node in walk(statement)
        if isinstance(node, ast.expr) and target not in walk(node)
    ) and not any(
        isinstance(one, (ast.IfExp, ast.BoolOp)) for one in source.ancestors(target) if isinstance(one, ast.expr)
    )
