"""What Python asks of a tensor besides operators, answered for tensors without data: truth, text, NumPy, conversions.

Everything is put back when the context ends. Imports torch's private modules (see `fake_mode.missing_hooks`).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, cast

_LARGEST_ARRAY = 1 << 16  # elements that are allocated for a NumPy array; larger ones repeat one value


@contextlib.contextmanager
def fake_python(mode: Any, oracle: Callable[[], Any]) -> Iterator[None]:
    """Within it, tensors of `mode` can be tested, printed, listed, copied, saved, moved and turned into arrays.

    Those of other modes (Dynamo has its own while it traces) stay as they are.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    truth = FakeTensor.__bool__

    def __bool__(tensor: Any) -> bool:  # noqa: N807
        oracle().begin_test()
        try:
            return bool(truth(tensor))
        finally:
            oracle().end_test()

    changes: dict[str, Callable[..., Any]] = {
        "__bool__": __bool__,
        "__repr__": _text,
        "__str__": _text,
        "__format__": _format,
        "__deepcopy__": _deepcopy,
        "tolist": _tolist,
        "numpy": _numpy,
    }
    kept = {name: vars(FakeTensor).get(name) for name in changes}
    swap = torch.utils.swap_tensors
    loud = logging.getLogger("torch._subclasses.fake_tensor")
    level = loud.level
    for name, change in changes.items():
        setattr(FakeTensor, name, _for_mode(mode, name, getattr(FakeTensor, name), change))
    torch.utils.swap_tensors = torch.compiler.disable(_swapping(swap, FakeTensor))
    loud.setLevel(logging.CRITICAL)
    try:
        with torch.serialization.skip_data(materialize_fake_tensors=True):
            yield
    finally:
        loud.setLevel(level)
        torch.utils.swap_tensors = swap
        for name, was in kept.items():
            if was is None:
                delattr(FakeTensor, name)
            else:
                setattr(FakeTensor, name, was)


def _for_mode(mode: Any, name: str, original: Callable[..., Any], change: Callable[..., Any]) -> Callable[..., Any]:
    """The changed method under the name of the original (by which Dynamo knows it), not traced as the program's code."""
    import torch

    def method(tensor: Any, *args: Any, **options: Any) -> Any:
        return (change if tensor.fake_mode is mode else original)(tensor, *args, **options)

    method.__name__ = name
    method.__qualname__ = f"FakeTensor.{name}"
    return cast(Callable[..., Any], torch.compiler.disable(method))


def _text(tensor: Any, **_options: Any) -> str:
    words = [f"size={tuple(tensor.shape)}", f"dtype={tensor.dtype}"]
    words += [f"device='{tensor.fake_device}'"] if tensor.fake_device.type != "cpu" else []
    words += ["requires_grad=True"] if tensor.requires_grad else []
    return f"tensor(..., {', '.join(words)})"


def _format(tensor: Any, spec: str) -> str:
    if not spec:
        return _text(tensor)
    if tensor.dim():
        return object.__format__(tensor, spec)  # raises as a tensor with elements does
    return format(_value(tensor), spec)


def _deepcopy(tensor: Any, memo: dict[int, Any]) -> Any:
    """A copy of the tensor in the same mode; torch's would copy the mode as well."""
    import torch

    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        )
    with torch.no_grad():
        copied = tensor.detach().clone()
    copied.requires_grad_(tensor.requires_grad)
    if isinstance(tensor, torch.nn.Parameter):
        copied._is_param = True
    memo[id(tensor)] = copied
    return copied


def _tolist(tensor: Any) -> Any:
    if tensor.constant is not None:
        return tensor.constant.tolist()
    if tensor.dim() == 0:
        return tensor.item()
    return _nested(list(tensor.shape), _value(tensor))


def _nested(shape: list[int], value: Any) -> Any:
    return [_nested(shape[1:], value) for _ in range(shape[0])] if shape else value


def _numpy(tensor: Any, *, force: bool = False) -> Any:
    import numpy
    import torch

    if tensor.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )  # as torch says it, so that a program that catches it goes on
    if tensor.fake_device.type != "cpu" and not force:
        said = "Use Tensor.cpu() to copy the tensor to host memory first."
        raise TypeError(f"can't convert {tensor.fake_device} device type tensor to numpy. {said}")
    if tensor.constant is not None:
        return tensor.constant.detach().numpy().copy()
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():
        one = torch.ones((), dtype=tensor.dtype).numpy()  # raises for bfloat16, as it should
    if tensor.numel() > _LARGEST_ARRAY:
        return numpy.broadcast_to(one, tuple(tensor.shape))
    return numpy.full(tuple(tensor.shape), one)


def _value(tensor: Any) -> Any:
    if tensor.constant is not None and tensor.dim() == 0:
        return tensor.constant.item()
    if tensor.dtype.is_floating_point:
        return 1.0
    if tensor.dtype.is_complex:
        return 1 + 0j
    return str(tensor.dtype) == "torch.bool" or 1


def _swapping(original: Callable[[Any, Any], None], fake: type) -> Callable[[Any, Any], None]:
    """`torch.utils.swap_tensors`, by which modules convert parameters; fake ones are held by weak references too often."""

    def swap_tensors(one: Any, other: Any) -> None:
        if not all(isinstance(tensor, fake) for tensor in (one, other)):
            original(one, other)
            return
        import torch

        try:
            with torch.no_grad():
                one.data = other.data
            one.fake_device = other.fake_device
        except RuntimeError:  # to another kind of device
            torch._C._swap_tensor_impl(one, other)
            one.__dict__, other.__dict__ = other.__dict__, one.__dict__
        one.constant = None

    return swap_tensors
