"""What torch itself shows of an operator: it is called on small tensors, with the arguments that `recipes` has for it.

A call that raises for a dtype is no evidence and is left out; a recipe that raises for all of them is an error of the test.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

HOMES: dict[str, Any] = {
    "torch": torch,
    "Tensor": torch.Tensor,
    "functional": F,
    "special": torch.special,
    "linalg": torch.linalg,
}


class _Failed:
    """A call that raised."""


FAILED = _Failed()


@dataclass(frozen=True)
class Call:
    """One way to call an operator; `make` gives operands of a dtype, `run` the result of them or `FAILED`."""

    form: str
    code: CodeType
    function: Any

    def make(self, dtype: torch.dtype = torch.float32, *, gradient: bool = False) -> tuple[Any, ...]:
        """Operands, made anew: the same values in every call."""
        return eval(self.code, {}, _Operands(dtype, gradient))

    def run(self, operands: tuple[Any, ...]) -> Any:
        """The result of the operands, or `FAILED`; an attribute is read."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self.function(*operands)
            except Exception:  # whatever torch says of operands that it does not take
                return FAILED


class _Operands(dict[str, Any]):
    """The words of a recipe, made when they are read.

    ``x``, ``y`` 3x3; ``v``, ``w`` vectors of 4; ``c``, ``d`` 2x3x4; ``im`` 1x4x8x8 and ``vol`` 1x4x8x8x8: of the dtype
    asked for, never transposed; ``b`` a mask of 3x3, ``i`` places 0, 2, 1, ``k``, ``l`` whole numbers 3x3, ``z`` complex.
    """

    def __init__(self, dtype: torch.dtype, gradient: bool) -> None:
        super().__init__(torch=torch)
        self.dtype, self.gradient = dtype, gradient

    def __missing__(self, name: str) -> Any:
        if name == "t":
            value: Any = lambda *shape: self._of(shape, 7)  # noqa: E731
        elif name in _SHAPES:
            value = self._of(*_SHAPES[name])
        elif name in _OTHERS:
            value = _OTHERS[name]()
        else:
            raise KeyError(name)
        self[name] = value
        return value

    def _of(self, shape: tuple[int, ...], step: int) -> torch.Tensor:
        count = torch.Size(shape).numel()
        steps = torch.arange(count) * step % max(count, 1)
        if self.dtype is torch.bool:
            return (steps % 2 == 0).reshape(shape)
        floating = self.dtype.is_floating_point
        made = (0.15 + steps * 0.7 / max(count, 1)) if floating else steps + 1
        return made.to(self.dtype).reshape(shape).requires_grad_(self.gradient and floating)


_SHAPES = {
    "x": ((3, 3), 7), "y": ((3, 3), 5), "v": ((4,), 3), "w": ((4,), 1), "c": ((2, 3, 4), 7), "d": ((2, 3, 4), 5),
    "im": ((1, 4, 8, 8), 7), "vol": ((1, 4, 8, 8, 8), 7), "s": ((), 1), "one": ((1, 3), 1), "u": ((3,), 1),
}  # fmt: skip
_OTHERS: dict[str, Callable[[], Any]] = {
    "b": lambda: torch.tensor([[True, False, True], [False, False, True], [True, True, False]]),
    "i": lambda: torch.tensor([0, 2, 1]),
    "k": lambda: torch.tensor([[5, 3, 1], [2, 6, 4], [9, 8, 7]]),
    "l": lambda: torch.tensor([[1, 2, 3], [3, 2, 1], [2, 2, 1]]),
    "z": lambda: torch.tensor([[1 + 2j, 3j], [2 - 1j, 4 + 0j]]),
    "rows": lambda: torch.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 2]]),
}


def calls_of(home: str, name: str, forms: tuple[str, ...]) -> list[Call]:
    """The calls of an operator of ``torch``, ``Tensor`` or ``functional``; of what is no function, its reading."""
    function = getattr(HOMES[home], name)
    if not callable(function):
        function = lambda operand: getattr(operand, name)  # noqa: E731
    return [Call(form, _compiled(form), function) for form in forms]


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a result or in operands, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors(one)


_codes: dict[str, CodeType] = {}


def _compiled(form: str) -> CodeType:
    if form not in _codes:
        _codes[form] = compile(f"({form},)", "<recipe>", "eval")
    return _codes[form]
