"""What running an expression could do besides giving a value: effects, random numbers, errors that depend on data.

Tables of names that are known to be harmless and the walk that uses them; what is not known counts as an effect.
Nothing here looks at values or runs code. No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.mending.facts.static_loops import is_in_range
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned

Kind = Literal["effect", "random", "raises", "compute"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BUILTINS = _words(
    "abs all any bool complex dict enumerate float frozenset getattr hasattr id int isinstance issubclass len "
    "list max min range repr reversed round set slice sorted str sum tuple type zip"
)
_RANDOM_TORCH = _words(
    "rand randn randint randperm rand_like randn_like randint_like bernoulli normal multinomial poisson "
    "dropout alpha_dropout feature_dropout feature_alpha_dropout native_dropout rrelu"
)
_RANDOM_FUNCTIONAL = _words(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout gumbel_softmax rrelu "
    "fractional_max_pool2d fractional_max_pool3d"
)
_RANDOM_METHODS = _words(
    "bernoulli multinomial random_ uniform_ normal_ exponential_ cauchy_ geometric_ log_normal_ bernoulli_"
)
_EFFECT_TORCH = _words(
    "compile save load manual_seed seed set_default_dtype set_default_device set_grad_enabled "
    "set_printoptions set_num_threads set_rng_state use_deterministic_algorithms _assert _assert_async _check"
)
_EFFECT_PACKAGES = (
    "torch.autograd", "torch.cuda", "torch.distributed", "torch.jit", "torch.optim", "torch.utils", "torch.library",
    "torch.compiler", "torch.random", "torch.multiprocessing", "torch.onnx", "torch.profiler", "torch._dynamo",
    "torch.nn.init", "torch.serialization", "torch.backends", "torch.ops",
)  # fmt: skip
_PURE_EXCEPTIONS = frozenset({"torch.cuda.is_available", "torch.compiler.is_compiling", "torch.jit.is_scripting"})
_DATA_ERRORS = _words(
    "floor_divide remainder fmod multinomial bincount cholesky inverse inv solve eigh eig svd cholesky_solve lstsq "
    "one_hot gather index_select take take_along_dim scatter scatter_add index_add index_copy index_fill "
    "embedding nll_loss cross_entropy repeat_interleave arange range linspace logspace full zeros ones empty "
    "masked_scatter"
)
"""Torch functions and methods whose errors depend on the values of their arguments, not only on shapes and dtypes."""

_SIZE_ERRORS = _words("arange range linspace logspace full zeros ones empty repeat_interleave")
TENSOR_METHODS = _words(
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr all allclose amax amin aminmax angle "
    "any arccos arcsin arctan arctan2 argmax argmin argsort asin asinh atan atan2 atanh baddbmm bfloat16 "
    "bitwise_and bitwise_not bitwise_or bitwise_xor bmm bool broadcast_to byte ceil char cholesky chunk clamp "
    "clamp_max clamp_min clip clone conj contiguous copysign cos cosh cpu cross cuda cummax cummin cumprod "
    "cumsum deg2rad detach diag diag_embed diagflat diagonal diff digamma dim dist div divide dot double "
    "dsplit element_size eq equal erf erfc erfinv exp exp2 expand expand_as expm1 fix flatten flip fliplr "
    "flipud float float_power floor floor_divide fmax fmin fmod frac frexp gather ge get_device greater "
    "greater_equal gt half heaviside histc hsplit hypot i0 imag index_add index_copy index_fill index_put "
    "index_select inner int inverse is_complex is_contiguous is_floating_point is_nonzero isclose isfinite "
    "isinf isnan isneginf isposinf isreal item kron kthvalue ldexp le lerp less less_equal lgamma log log10 "
    "log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or "
    "logical_xor logit logsumexp long lt masked_fill masked_scatter matmul matrix_exp matrix_power max "
    "maximum mean median min minimum mm mode moveaxis movedim mul multiply mv mvlgamma nan_to_num nanmean "
    "nanmedian nanquantile nansum narrow ndimension ne neg negative new_empty new_full new_ones new_tensor "
    "new_zeros nextafter norm not_equal numel outer permute pinverse polygamma positive pow prelu prod qr "
    "quantile rad2deg ravel real reciprocal relu remainder renorm repeat repeat_interleave reshape reshape_as "
    "roll rot90 round rsqrt scatter scatter_add scatter_reduce select sgn short sigmoid sign signbit sin sinc "
    "sinh size slogdet softmax sort split sqrt square squeeze std stride sub subtract sum sum_to_size svd "
    "swapaxes swapdims t take take_along_dim tan tanh tensor_split tile to tolist topk trace transpose tril "
    "triu true_divide trunc type type_as unbind unflatten unfold unsqueeze var view view_as vsplit where "
    "xlogy masked_select nonzero unique bincount"
)
"""Methods of a tensor that only compute (no trailing underscore)."""

_OTHER_METHODS = _words("get keys values items startswith endswith lower upper split format strip index count")


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something an expression may do. `words` finish the sentence "``code`` ..." for the user."""

    kind: Kind
    node: ast.AST
    words: str


def hazards(source: Source, node: ast.AST) -> tuple[Hazard, ...]:
    """Everything in an expression that is more than a value, in the order of the text."""
    found = [one for part in ast.walk(node) for one in _of_node(source, part)]
    return tuple(sorted(found, key=lambda one: source.range(one.node)))


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
        elif not any(is_builtin(source, node.func, one) for one in _BUILTINS if one == node.func.id):
            yield Hazard("effect", node, "calls a function whose effects are not known")
    elif isinstance(node.func, ast.Attribute):
        yield from _of_method(node, node.func)
    else:
        yield Hazard("effect", node, "calls something whose effects are not known")


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


def _of_known(node: ast.Call, name: str) -> Iterator[Hazard]:
    last = name.rpartition(".")[2]
    if name.startswith("torch.nn.functional."):
        if last in _RANDOM_FUNCTIONAL and not _is_off(node):
            yield Hazard("random", node, "draws random numbers")
        elif last in _DATA_ERRORS:
            yield Hazard("raises", node, "may raise for values out of range")
        elif last.endswith("_") or _keyword_true(node, "inplace"):
            yield Hazard("effect", node, "changes a tensor in place")
    elif name == "torch" or name.startswith("torch."):
        if name in _PURE_EXCEPTIONS:
            return
        if last in _RANDOM_TORCH:
            yield Hazard("random", node, "draws random numbers")
        elif last in _EFFECT_TORCH or name.startswith(tuple(f"{one}." for one in _EFFECT_PACKAGES)):
            yield Hazard("effect", node, "has effects besides its value")
        elif last.endswith("_") or any(one.arg == "out" for one in node.keywords):
            yield Hazard("effect", node, "changes a tensor in place")
        elif last[:1].isupper() and name not in ("torch.Size", "torch.Tensor"):
            yield Hazard("effect", node, "creates an object")
        elif _raises_on_data(node, last):
            yield Hazard("raises", node, "may raise for values out of range")
    elif name.startswith("math."):
        if last not in ("isnan", "isinf", "isfinite", "prod", "ceil", "floor", "fabs") and not _constant_arguments(
            node
        ):
            yield Hazard("raises", node, "may raise for values outside its domain")
    elif not name.startswith(("functools.reduce", "operator.")):
        yield Hazard("effect", node, "calls a function whose effects are not known")


def _of_method(node: ast.Call, function: ast.Attribute) -> Iterator[Hazard]:
    name = function.attr
    if _through_self(function):
        yield Hazard("compute", node, "is computed in every call")
    elif name in _RANDOM_METHODS:
        yield Hazard("random", node, "draws random numbers")
    elif name.endswith("_") and not name.endswith("__"):
        yield Hazard("effect", node, "changes a tensor in place")
    elif name in TENSOR_METHODS:
        if _raises_on_data(node, name):
            yield Hazard("raises", node, "may raise for values out of range")
    elif name not in _OTHER_METHODS:
        yield Hazard("effect", node, "calls a method whose effects are not known")


def _through_self(function: ast.Attribute) -> bool:
    """Whether it is ``self.name(...)`` and not a method of a tensor: a submodule or a method of the class."""
    return isinstance(function.value, ast.Name) and function.value.id == "self"


def _raises_on_data(node: ast.Call, name: str) -> bool:
    if name not in _DATA_ERRORS:
        return False
    return not (name in _SIZE_ERRORS and _size_arguments_are_safe(node))


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


def _is_number(source: Source, node: ast.AST) -> bool:
    """Whether an expression is surely a Python number: the result of ``len``, ``int``, a constant, a size."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    if isinstance(node, ast.Call):
        return any(is_builtin(source, node.func, name) for name in ("len", "int", "float", "round", "ord"))
    return isinstance(node, ast.BinOp) and _is_number(source, node.left) and _is_number(source, node.right)


def _constant_arguments(node: ast.Call) -> bool:
    return all(isinstance(argument, ast.Constant) for argument in node.args)


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


_NEED_ELEMENTS = frozenset((
    "max", "min", "amax", "amin", "aminmax", "argmax", "argmin", "median", "nanmedian", "mode",
))  # fmt: skip


_CONVERTING = frozenset(("to", "cuda", "cpu", "type", "float", "double", "half", "clone", "contiguous"))
_WITHOUT_GRADIENT = frozenset((
    "detach", "item", "tolist", "argmax", "argmin", "any", "all", "long", "int", "bool", "isnan", "isinf", "isfinite",
    "count_nonzero", "nonzero", "size", "numel", "dim", "zeros", "ones", "empty", "full", "arange", "zeros_like",
    "ones_like", "empty_like", "full_like", "eq", "ne", "lt", "le", "gt", "ge", "new_zeros", "new_ones",
))  # fmt: skip


def needing_elements(node: ast.AST) -> list[ast.Call]:
    """The calls in an expression or statement that raise for a tensor without elements, by their names."""
    return [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in _NEED_ELEMENTS
        and not (one.func.attr in ("max", "min") and len(one.args) == 2)  # of two tensors, element by element
    ]


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
        if value.func.attr in _CONVERTING:
            return may_ask_for_gradients(source, value.func.value)
        return value.func.attr not in _WITHOUT_GRADIENT
    if isinstance(value, ast.Attribute):
        return not (isinstance(value.value, ast.Name) and value.value.id == "self")
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
    for one in (one for statement in statements for one in ast.walk(statement)):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AugAssign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and may_ask_for_gradients(source, one.value):  # type: ignore[attr-defined]
                found[source.code(target)] = None
    return list(found)


def words_for_history(attribute: str) -> str:
    """What to tell of an attribute that is set where it would be left alone."""
    return f"`{attribute}` keeps what its gradient comes from also in calls that leave it as it was; detach what is put there."


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
        for node in ast.walk(statement)
        if isinstance(node, ast.expr) and target not in ast.walk(node)
    ) and not any(
        isinstance(one, (ast.IfExp, ast.BoolOp)) for one in source.ancestors(target) if isinstance(one, ast.expr)
    )
