"""The table of operators against torch: where the two differ, the table is wrong."""

import ast
import builtins
import itertools
import math
import operator
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from graphmend_lsp.mending.facts import operators
from graphmend_lsp.mending.facts.operators import Operator
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.source import read as read_source
from tests.mending.facts.observed import FAILED, HOMES, Call, calls_of, tensors
from tests.mending.facts.recipes import forms_of

TABLES = {
    "Tensor": operators.METHODS | operators.ATTRIBUTES,
    "torch": operators.FUNCTIONS,
    "functional": operators.FUNCTIONAL,
    "special": operators.SPECIAL,
    "linalg": operators.LINALG,
}
DTYPES = (torch.float32, torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8)
WHOLE = (torch.int64, torch.int32, torch.uint8, torch.bool)

NO_OPERATORS = (
    "cudnn_", "miopen_", "mkldnn_", "fbgemm_", "quantized_", "batch_norm_",  # kernels of one backend, called by others
    "has_torch_function", "handle_torch_function", "boolean_dispatch", "assert_int_or_pair", "Optional", "classproperty",
    "parse_", "merge_type_", "unify_type_", "thread_safe_", "profiler_",  # parts of torch's own machinery
)  # fmt: skip
"""What begins so is no operator that a program calls: nothing is claimed of it, and it is not counted."""


def public(home: str) -> list[str]:
    """What has no underscore in front and is called (of a tensor: also read), but classes and `NO_OPERATORS`."""
    holder = HOMES[home]
    return [
        name
        for name in dir(holder)
        if not name.startswith(("_", *NO_OPERATORS))
        and (home == "Tensor" or (callable(getattr(holder, name)) and not isinstance(getattr(holder, name), type)))
    ]


@pytest.mark.parametrize("home", TABLES)
def test_knows_what_torch_has(home: str) -> None:
    names = public(home)
    unknown = [name for name in names if name not in TABLES[home]]
    assert len(unknown) < 0.05 * len(names), unknown


@pytest.mark.parametrize("home", TABLES)
def test_has_nothing_that_torch_lacks(home: str) -> None:
    lacking = [name for name in TABLES[home] if not hasattr(HOMES[home], name)]
    assert [name for name in lacking if not (home == "torch" and hasattr(torch.Tensor, name))] == []


SLOW = ("lobpcg", "dim_order", "svd_lowrank", "pca_lowrank")
"""A call takes a second."""


def runs() -> Iterator[tuple[str, Operator, Call]]:
    """Every row with every call of it that works; what changes the process or runs code is not called."""
    for home, table in TABLES.items():
        for name, one in table.items():
            if (one.effect and one.alias != "self") or name in SLOW or not hasattr(HOMES[home], name):
                continue
            for call in calls_of(home, name, forms_of(one)):
                operands = call.make()
                if call.run(operands) is not FAILED:
                    yield f"{home}.{name}({call.form})", one, call


class Seen:
    """What the calls of one operator showed, all of them together; `wrong` are the sentences against the table."""

    def __init__(self, label: str, one: Operator, call: Call) -> None:
        self.label, self.one, self.call = label, one, call
        self.operands = call.make()
        versions = [(part, part._version) for part in tensors(self.operands)]
        self.result = call.run(self.operands)
        self.changed = any(part._version != before for part, before in versions if not part.is_inference())
        self.tensors = list(tensors(self.result))


@cache
def seen() -> tuple[Seen, ...]:
    torch.manual_seed(0)
    return tuple(Seen(*run) for run in runs())


def reported(wrong: list[str]) -> None:
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong)


def test_gives_what_the_table_says() -> None:
    reported(
        [f"{run.label} gives {type(run.result).__name__}, not {run.one.gives}" for run in seen() if not _given(run)]
    )


def _given(run: Seen) -> bool:
    value = run.result
    if run.one.gives == "flag":
        return isinstance(value, (bool, torch.SymBool))
    if run.one.gives == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if run.one.gives == "none":
        return value is None
    if run.one.gives in ("object", "size"):
        return True
    return bool(run.tensors) or run.one.name in ("grad", "type", "sym_ite")


def test_shares_storage_as_the_table_says() -> None:
    wrong = []
    sometimes: dict[str, set[str]] = defaultdict(set)
    for run in seen():
        if not run.one.is_tensor:
            continue
        alias = _alias(run)
        sometimes[run.label.partition("(")[0]].add(alias)
        if run.one.alias == "new" and alias != "new":
            wrong.append(f"{run.label} gives a {alias}, not a new tensor")
        if run.one.alias == "self" and alias != "self":
            wrong.append(f"{run.label} gives a {alias}, not its operand")
        if run.one.alias == "view" and alias == "new":
            wrong.append(f"{run.label} gives a new tensor, not always a view")
    reported(wrong)


def _alias(run: Seen) -> str:
    parts = [part for part in tensors(run.operands) if part.layout is torch.strided]
    if any(one is part for one in run.tensors for part in tensors(run.operands)):
        return "self"
    storages = {part.untyped_storage().data_ptr() for part in parts if part.numel()}
    shared = [one for one in run.tensors if one.layout is torch.strided and one.numel()]
    return "view" if any(one.untyped_storage().data_ptr() in storages for one in shared) else "new"


def test_changes_operands_as_the_table_says() -> None:
    reported([f"{run.label} changes an operand" for run in seen() if run.changed and not run.one.effect])


def test_gives_the_dtype_that_the_table_says() -> None:
    wrong = []
    for run in seen():
        if run.one.dtype in ("unknown", "argument") or not run.tensors:
            continue
        for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8):
            operands = run.call.make(dtype)
            before = [part.dtype for part in tensors(operands)]
            first = next(tensors(run.call.run(operands)), None)
            if first is None or not before or any(one.is_complex for one in before):
                continue
            wanted = _dtype(run.one, before, operands)
            if first.dtype is not wanted:
                wrong.append(f"{run.label} of {before[0]} gives {first.dtype}, not {wanted} ({run.one.dtype})")
    reported(wrong)


def _dtype(one: Operator, before: list[torch.dtype], operands: tuple[Any, ...]) -> torch.dtype:
    joined: Any = before[0]
    for part in operands[1:]:
        if isinstance(part, (torch.Tensor, int, float)) and one.form == "elementwise":
            joined = torch.result_type(torch.ones(2, dtype=joined), part)
    return {
        "same": before[0],
        "promoted": joined,
        "float": joined if joined.is_floating_point else torch.float32,
        "wide": torch.int64 if before[0] in WHOLE else before[0],
        "truth": torch.uint8 if before[0] is torch.uint8 else torch.bool,
    }.get(one.dtype) or getattr(torch, one.dtype)


SIZES = {"dropout2d": 4, "dropout3d": 5}


def test_inplace_changes_the_operand() -> None:
    rows = [one for one in operators.FUNCTIONAL.values() if one.inplace]
    for one in rows:
        x = torch.ones((2, 3, 4, 4, 4)[: SIZES.get(one.name, 3)])
        others = (0.5, 0.1) if one.name == "threshold" else ()
        assert getattr(torch.nn.functional, one.name)(x, *others, inplace=True) is x
    assert len(rows) > 15


def test_carries_a_gradient_as_the_table_says() -> None:
    wrong = []
    for run in seen():
        if run.one.alias == "self" or not run.tensors:
            continue
        operands = run.call.make(gradient=True)
        if not any(part.requires_grad for part in tensors(operands)):
            continue
        carries = any(part.requires_grad for part in tensors(run.call.run(operands)))
        if carries and not run.one.carries_gradient:
            wrong.append(f"{run.label} carries a gradient")
    reported(wrong)


def test_gradients_are_not_cut_elsewhere() -> None:
    """What the table says to carry a gradient does so in some call: nothing is lost by calling all of them cut."""
    carried: dict[str, list[bool]] = defaultdict(list)
    for run in seen():
        if run.one.carries_gradient and run.one.alias != "self" and run.one.dtype not in ("argument", "unknown"):
            operands = run.call.make(gradient=True)
            if any(part.requires_grad for part in tensors(operands)):
                result = [*tensors(run.call.run(operands))]
                if any(part.is_floating_point() for part in result):
                    carried[run.label.partition("(")[0]].append(any(part.requires_grad for part in result))
    reported([f"{name} never carries a gradient" for name, found in carried.items() if not any(found)])


def test_is_elementwise_where_the_table_says() -> None:
    """An element that is changed changes the result at its place; elements that are turned round turn the result round."""
    wrong = []
    for run in seen():
        if run.one.form != "elementwise" or run.one.random or len(run.tensors) != 1:
            continue
        parts = [*tensors(run.call.make())]
        if {part.shape for part in parts} != {(3, 3)} or any(part.is_complex() for part in [*parts, *run.tensors]):
            continue
        if run.tensors[0].shape != (3, 3):
            wrong.append(f"{run.label} has another shape")
        elif not _local(run.call) or not _turned(run.call):
            wrong.append(f"{run.label} looks at other elements")
    reported(wrong)


def _local(call: Call) -> bool:
    plain, changed = call.make(), call.make()
    with torch.no_grad():
        next(tensors(changed))[0, 0] = 1
    there = torch.zeros(3, 3, dtype=torch.bool)
    there[0, 0] = True
    return _close(call.run(plain).clone().masked_fill(there, 0), call.run(changed).clone().masked_fill(there, 0))


def _turned(call: Call) -> bool:
    turned = tuple(part.flip(0, 1) if isinstance(part, torch.Tensor) else part for part in call.make())
    return _close(call.run(call.make()).flip(0, 1), call.run(turned))


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.double(), other.double(), atol=1e-6, equal_nan=True)


def test_reductions_do_not_know_an_order() -> None:
    """The elements in another order give the same; a neutral element more changes nothing."""
    wrong = []
    for run in seen():
        if run.one.form != "reduction" or not run.label.endswith(("(x)", "(x, y)")) or len(run.tensors) != 1:
            continue
        if run.tensors[0].dim() != 0 or run.one.dtype == "int64":
            continue
        if not _close(run.tensors[0], run.call.run(tuple(part.flip(0, 1) for part in run.call.make()))):
            wrong.append(f"{run.label} knows an order")
        if run.one.neutral is not None and run.label.endswith("(x)"):
            (x,) = run.call.make(torch.float32)
            x = x > 0.4 if run.one.neutral in ("True", "False") else x
            more = torch.cat(
                [
                    x,
                    torch.full_like(
                        x, float(run.one.neutral == "True") if x.dtype is torch.bool else float(run.one.neutral)
                    ),
                ]
            )
            if not _close(run.call.run((x,)), run.call.run((more,))):
                wrong.append(f"{run.label}: {run.one.neutral} is not neutral")
    reported(wrong)


def test_draws_random_numbers_where_the_table_says() -> None:
    wrong = []
    for run in seen():
        if run.tensors and not run.one.random and run.one.form != "makes" and "empty" not in run.label:
            state = torch.get_rng_state()
            run.call.run(run.call.make())
            if not torch.equal(state, torch.get_rng_state()):
                wrong.append(f"{run.label} draws random numbers")
    reported(wrong)


def test_random_rows_draw() -> None:
    drawn: dict[str, list[bool]] = defaultdict(list)
    for run in seen():
        if run.one.random:
            state = torch.get_rng_state()
            run.call.run(run.call.make())
            drawn[run.label.partition("(")[0]].append(not torch.equal(state, torch.get_rng_state()))
    assert len(drawn) > 30
    reported([f"{name} draws nothing" for name, found in drawn.items() if not any(found)])


def test_keeps_the_shape_where_the_table_says() -> None:
    reported([
        f"{run.label} has the shape {tuple(run.tensors[0].shape)}"
        for run in seen()
        if run.one.keeps_shape
        and run.one.alias != "self"
        and len(run.tensors) == 1
        and len({part.shape for part in tensors(run.operands) if part.dim()}) == 1
        and run.tensors[0].shape != next(tensors(run.operands)).shape
    ])  # fmt: skip


def test_safe_operands_are_safe() -> None:
    """Where a value or its gradient is not finite somewhere, the table has an operand for which both are."""
    wrong = []
    rows = [(home, name, one) for home in ("torch", "special") for name, one in TABLES[home].items()]
    for home, name, one in rows:
        if one.form != "elementwise" or one.effect or not one.carries_gradient or one.dtype != "float":
            continue
        function = getattr(HOMES[home], name)
        finite = _finite(function, torch.tensor([-200.0, -3, -1, -0.5, 0, 0.5, 1, 3, 200]))
        if finite is None:
            continue
        if one.safe is None and not finite:
            wrong.append(f"{name} is not finite everywhere and has no safe operand")
        if one.safe is not None and (finite or not _finite(function, torch.tensor([float(one.safe)]))):
            wrong.append(f"{name}: {one.safe} is no safe operand")
    reported(wrong)


def _finite(function: Any, x: torch.Tensor) -> bool | None:
    x = x.clone().requires_grad_()
    try:
        value = function(x)
    except TypeError:  # of two operands
        return None
    value.sum().backward()
    return bool(value.isfinite().all() and x.grad is not None and x.grad.isfinite().all())


NOT_FINITE = (float("nan"), float("inf"), 0.0, 1.0)
"""What all elements of a floating operand are: also a matrix that has no inverse."""


def test_raises_for_no_values_where_the_table_says_nothing_of_it() -> None:
    wrong: dict[str, str] = {}
    for run in seen():
        if run.one.raises or run.one.effect or run.one.random or run.one.reads or not run.one.is_tensor:
            continue
        for value in NOT_FINITE:
            operands = run.call.make()
            floating = [part for part in tensors(operands) if part.is_floating_point() and part.layout is torch.strided]
            with torch.no_grad():
                for part in floating:
                    part.fill_(value)
            if floating and run.call.run(operands) is FAILED:
                wrong[run.label] = f"{run.label} raises for {value}"
    reported(list(wrong.values()))


def test_several_tensors_where_the_table_says_one() -> None:
    given: dict[str, list[bool]] = defaultdict(list)
    for run in seen():
        if run.one.gives == "tensor":
            given[run.label.partition("(")[0]].append(isinstance(run.result, tuple))
    reported([f"{name} always gives several tensors" for name, found in given.items() if all(found)])


def test_refuses_integers_where_the_table_says() -> None:
    wrong, asked = [], 0
    for run in seen():
        if run.one.floats and any(True for _ in tensors(run.call.make(torch.int64))):
            asked += 1
            taken = [dtype for dtype in (torch.int64, torch.bool) if run.call.run(run.call.make(dtype)) is not FAILED]
            wrong += [f"{run.label} takes {dtype}" for dtype in taken]
    assert asked > 60
    reported(wrong)


def test_refuses_floats_where_the_table_says() -> None:
    rows = [one for one in operators.FUNCTIONS.values() if one.wholes and not one.effect]
    assert len(rows) > 5
    for one in rows:
        for count in (1, 2):
            with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
                getattr(torch, one.name)(*(torch.ones(3) for _ in range(count)))


def _drawn(run: Seen, scale: float, *, signed: bool) -> tuple[Any, ...]:
    """Operands of random floating-point numbers, of both signs or of none below zero."""
    operands = run.call.make()
    for part in tensors(operands):
        if part.is_floating_point() and part.layout is torch.strided and not part.is_quantized:
            drawn = torch.randn_like(part) * scale
            part.copy_(drawn if signed else drawn.abs())
    return operands


@pytest.mark.parametrize("flag", ["nonnegative", "keeps_sign"])
def test_is_not_below_zero_where_the_table_says(flag: str) -> None:
    wrong, asked = [], 0
    for run in seen():
        if not getattr(run.one, flag) or run.one.alias == "self":
            continue
        for scale in (0.3, 3.0):
            value = run.call.run(_drawn(run, scale, signed=flag == "nonnegative"))
            for part in () if value is FAILED else tensors(value):
                asked += 1
                if not part.is_complex() and (part.double() < 0).any():
                    wrong.append(f"{run.label} is below zero")
    assert asked > 50
    reported(wrong)


def test_is_linear_where_the_table_says() -> None:
    wrong, asked = [], 0
    for run in seen():
        if not run.one.linear or run.one.effect or len(run.tensors) != 1 or run.call.form != "x":
            continue
        asked += 1
        one, other = torch.randn(3, 3).half().float(), torch.randn(3, 3).half().float()
        whole = run.call.run((one + 2 * other,))
        if not torch.allclose(whole.double(), (run.call.run((one,)) + 2 * run.call.run((other,))).double(), atol=0.05):
            wrong.append(f"{run.label} is not linear")
    assert asked > 20
    reported(wrong)


def test_has_no_dimensions_where_the_table_says() -> None:
    found = [run for run in seen() if run.one.dimensionless]
    assert len(found) > 5
    reported([f"{run.label} has dimensions" for run in found if any(part.dim() for part in run.tensors)])


def test_of_two_where_the_table_says() -> None:
    """What makes one operand harmless is asked of the table by rules: they must know which operand it is."""
    rows = [(home, one) for home in ("torch", "special") for one in TABLES[home].values()]
    for home, one in rows:
        if one.safe is None or one.effect:
            continue
        x, function = torch.full((2,), 0.4), getattr(HOMES[home], one.name)
        if one.of_two:
            assert function(x, x).shape == (2,)
        else:
            assert function(x).shape == (2,)


TAKES_NONE = {"median", "nanmedian", "mode"}
"""What raises for no elements along a dimension only."""


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_raises_for_no_elements_where_the_table_says() -> None:
    wrong = []
    for name, one in operators.METHODS.items():
        if one.form == "reduction" and not one.effect:
            method = getattr(torch.Tensor, name)
            try:
                method(torch.zeros(0))
            except TypeError:  # it takes more
                continue
            except (RuntimeError, IndexError) as error:
                wrong += [] if one.nonempty else [f"{name} raises for no elements: {error}"]
            else:
                wrong += [f"{name} takes no elements"] if one.nonempty and name not in TAKES_NONE else []
    reported(wrong)


def test_twins_do_the_same() -> None:
    wrong = []
    for name, one in operators.METHODS.items():
        if one.twin is None or one.effect or one.form != "elementwise":
            continue
        for call in calls_of("Tensor", name, forms_of(one)):
            operands = call.make()
            plain = call.run(operands)
            twin = getattr(torch.Tensor, one.twin)
            if plain is FAILED or plain.dtype is not operands[0].dtype:
                continue
            changed = call.make()
            if not _close(twin(*changed), plain) or not _close(changed[0], plain):
                wrong.append(f"{name}_ does something else")
    reported(wrong)


SCHEMAS = defaultdict(list)
for _schema in torch._C._jit_get_all_schemas():
    if _schema.name.startswith("aten::"):
        SCHEMAS[_schema.name.removeprefix("aten::")].append(_schema)


@pytest.mark.parametrize("home", ["Tensor", "torch"])
def test_agrees_with_the_schemas(home: str) -> None:
    """Over all overloads: what may be an alias of an operand is not called new, what is written is an effect."""
    wrong, compared = [], 0
    for name, one in TABLES[home].items():
        overloads = [
            schema
            for schema in SCHEMAS.get(name, ())
            if "out" not in schema.overload_name.split("_") and not any(part.is_out for part in schema.arguments)
            and any(str(part.type) in ("Tensor", "List[Tensor]") for part in schema.arguments)
        ]  # fmt: skip
        overloads = [one for one in overloads if "Tensor[](a!) self" not in str(one)]  # TorchScript's lists
        compared += bool(overloads)
        for schema in overloads:
            sources = [part.alias_info for part in schema.arguments if part.alias_info is not None]
            given = any(part.alias_info is not None and not part.alias_info.is_write for part in schema.returns)
            if given and one.is_tensor and one.is_new:
                wrong.append(f"{name}: {schema}")
            if any(source.is_write for source in sources) and not one.effect:
                wrong.append(f"{name} writes: {schema}")
    assert compared > 300
    reported(wrong)


PYTHON = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("kind", PYTHON)
def test_python_operators(kind: type[ast.AST]) -> None:
    one = operators.operator_of_ast(kind)
    assert one is not None
    unary = issubclass(kind, ast.unaryop)
    for dtype in (torch.float32, torch.int64, torch.uint8):
        x, y = torch.tensor([[3, 1], [2, 5]]).to(dtype), torch.tensor([[1, 2], [3, 2]]).to(dtype)
        try:
            result = PYTHON[kind](x) if unary else PYTHON[kind](x, y)
        except (RuntimeError, TypeError):
            continue
        assert result.dtype is _dtype(one, [dtype], (x,) if unary else (x, y))
        shared = result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert not shared or one.alias == "maybe"
        assert (one.form == "elementwise") == (kind is not ast.MatMult)


@pytest.mark.parametrize("kind", [kind for kind in PYTHON if issubclass(kind, ast.operator)])
def test_augmented_assignments(kind: type[ast.operator]) -> None:
    one = operators.in_place(kind)
    function = getattr(operator, f"i{PYTHON[kind].__name__.rstrip('_')}")
    x = torch.tensor([[4, 1], [2, 5]]).to(
        torch.int64 if kind.__name__.startswith(("Bit", "LS", "RS")) else torch.float32
    )
    changed = x.clone()
    result = function(changed, x)
    assert (result is changed) == (one is not None)
    assert one is None or torch.equal(result, getattr(x.clone(), one.name)(x))


def test_knows_every_operator_and_builtin_of_python() -> None:
    kinds = {
        kind.__name__
        for base in (ast.operator, ast.unaryop, ast.cmpop)
        for kind in base.__subclasses__()
    }  # fmt: skip
    assert kinds | {"Subscript"} == set(operators.OPERATORS)
    assert all(hasattr(builtins, name) for name in operators.BUILTINS)
    functions = {
        name for name in dir(builtins)
        if not name.startswith("_") and callable(getattr(builtins, name))
        and not (isinstance(getattr(builtins, name), type) and issubclass(getattr(builtins, name), BaseException))
    }  # fmt: skip
    assert len(functions - set(operators.BUILTINS)) < 0.35 * len(functions)


def test_what_is_not_known() -> None:
    assert operators.operator_of_method("frobnicate") is None
    assert operators.operator_of_function("torch.fft.rfft") is None
    assert operators.operator_of_function("numpy.add") is None
    one = operators.UNKNOWN
    assert not one.is_new and one.effect and one.random and one.raises


@pytest.mark.parametrize("table", ["[elementwise]\nabs abs", "[elementwize]\nabs", "[neutral=]\nsum"])
def test_a_table_that_says_nothing_is_an_error(table: str) -> None:
    from graphmend_lsp.mending.facts.operators.operator import read

    with pytest.raises(ValueError, match=r"twice|no such word"):
        read(table)


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_computed_of_constants_neither_warns_nor_raises(count: int) -> None:
    """Each function of numpy and `math` that counts as computed, with each list of constants."""
    known, refused = 0, 0
    names = [f"math.{one}" for one in dir(math)] + [
        f"numpy.{one}" for one in dir(np) if operators.is_arithmetic(f"numpy.{one}")
    ]
    for name in names:
        for values in itertools.product((0, 1, 2, 0.5, 100, -1, 1000, "s", True), repeat=count):
            if not operators.is_computed(name, [ast.Constant(one) for one in values]):
                refused += 1
                continue
            known += 1
            home, _, last = name.partition(".")
            with warnings.catch_warnings(), np.errstate(all="raise"):
                warnings.simplefilter("error")
                getattr({"math": math, "numpy": np}[home], last)(*values)
    assert known > 100 and refused > 100
    two = [ast.Constant(2), ast.Constant(0.5)][:count]
    assert operators.is_computed("math.pow" if count == 2 else "math.sqrt", two)
    assert not operators.is_computed("numpy.log", [ast.Constant(0)]) and not operators.is_computed(
        "math.log", [ast.Name("x")]
    )


@pytest.mark.parametrize(
    ("call", "pure"),
    [
        ("np.sqrt(2)", True),
        ("np.sqrt(2, out=kept)", False),
        ("np.log(0)", False),
        ("math.sqrt(2)", True),
        ("math.sqrt(-1)", False),
    ],
)
def test_arithmetic_of_constants_that_fills_nothing_only_computes(call: str, pure: bool) -> None:
    source = read_source("a.py", f"import math\nimport numpy as np\n\ny = {call}\n")
    assert isinstance(source, Source)
    assert (not list(hazards(source, source.tree.body[-1]))) is pure
