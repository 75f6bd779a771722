"""Tensors that have a shape, a dtype and a device but no data, in eager code between graphs as well as in them.

A `FakeTensorMode` of torch that does not stop where a program asks a tensor for a value (an `Oracle` answers), nor where
a shape depends on values (a small one stands in). Small tensors made from Python numbers keep their values, as the real
program's would have them. What of Python's own protocol must be answered differently is `fake_python`'s.
Imports torch's private modules; `missing_hooks` tells what of them is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import recorder

HOOKS: Mapping[str, Sequence[str]] = {
    "torch._subclasses.fake_tensor": (
        "FakeTensor",
        "FakeTensorMode",
        "FakeTensorMode.dispatch",
        "FakeTensorMode.may_turn_const",
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "unset_fake_temporarily",
    ),
    "torch.utils._pytree": ("tree_leaves", "tree_map"),
    "torch._ops": ("HigherOrderOperator",),
    "torch.utils": ("swap_tensors",),
    "torch._C": ("_swap_tensor_impl",),
    "torch.serialization": ("skip_data",),
}


def missing_hooks() -> list[str]:
    """The names in torch that a fake run needs and does not find; empty when all is well."""
    return recorder.missing_hooks(HOOKS)


def new_mode(oracle: Callable[[], Any]) -> Any:
    """The mode, not yet entered; `oracle` gives the `Oracle` to ask. One mode serves all runs of a process."""
    import torch
    from torch._ops import HigherOrderOperator
    from torch._subclasses import fake_tensor

    from .fake_shapes import KNOWN_VALUES, stand_in

    aten = torch.ops.aten
    scalar = aten._local_scalar_dense.default

    class FakeMode(fake_tensor.FakeTensorMode):
        """Answers where torch's own mode gives up."""

        supports_higher_order_operators = True  # torch finds what they do in a mode by its very class

        def dispatch(
            self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            if isinstance(func, HigherOrderOperator) and fake_tensor.FakeTensorMode in func.python_key_table:
                if func.name() == "while_loop":
                    return self._iterated(*args)
                return func.python_key_table[fake_tensor.FakeTensorMode](self, *args, **kwargs)
            if func is scalar and _has_data(args[0]):  # made before the mode
                with fake_tensor.unset_fake_temporarily():
                    return func(*args, **kwargs)
            try:
                return super().dispatch(func, types, args, kwargs)
            except fake_tensor.DataDependentOutputException:
                return self._value(func, args, kwargs)
            except fake_tensor.DynamicOutputShapeException:
                return stand_in(self, func, args, kwargs, oracle().selects_all)

        def may_turn_const(self, tensor: Any) -> bool:
            return super().may_turn_const(tensor) or (
                tensor.layout is torch.strided
                and tensor.numel() <= KNOWN_VALUES
                and not isinstance(tensor, fake_tensor.FakeTensor)
                and tensor.device.type == "cpu"
                and type(tensor) is torch.Tensor
            )

        def __deepcopy__(self, _memo: Any) -> Any:
            return self

        def _iterated(self, test: Any, body: Any, carried: Sequence[Any], others: Sequence[Any], *_: Any) -> Any:
            """What a loop gives: the results of one iteration, which has the shapes of every other one."""
            with self:
                test(*carried, *others)
                return tuple(body(*carried, *others))

        def _value(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            if func is scalar:
                return oracle().value(args[0].dtype)
            returned = [str(item.type) for item in func._schema.returns]
            if returned == ["bool"]:
                return oracle().truth()
            if returned in (["number"], ["int"], ["float"]):
                return oracle().value(torch.int64 if returned == ["int"] else torch.float32)
            return stand_in(self, func, args, kwargs, oracle().selects_all)

    return FakeMode(allow_non_fake_inputs=True)


def _has_data(tensor: Any) -> bool:
    import torch

    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.device.type != "meta"


def forget_values(tensors: Any, mode: Any) -> None:
    """Make these tensors unknown: inputs and weights that were written down in the program (``torch.tensor([1.0])``)."""
    from torch._subclasses.fake_tensor import FakeTensor

    for tensor in tensors:
        if isinstance(tensor, FakeTensor) and tensor.constant is not None:
            mode.fake_tensor_converter.invalidate_constant_aliases(tensor.constant)
            tensor.constant = None
