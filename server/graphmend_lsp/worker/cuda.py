"""CUDA in a process that forks: no fork can use it once the process has initialized it, or has counted devices through it.

Measured on torch 2.11 and an H200. `torch.cuda.is_available` counts through the runtime unless the environment asks for
NVML, and torch then marks every fork as one that cannot use CUDA. Dynamo reads the device's random state, which initializes
CUDA, before it compiles any frame, also of a program on the CPU: in such a fork it raises, and nothing is compiled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_BY_DRIVER = "PYTORCH_NVML_BASED_CUDA_CHECK"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def count_by_driver() -> None:
    """From now on torch asks the driver's library whether there are devices; that leaves CUDA as it is."""
    os.environ[_BY_DRIVER] = "1"


def hide() -> None:
    """From now on this process, which has not used CUDA yet, and its forks have no CUDA device."""
    os.environ[_VISIBLE] = ""


def is_there(torch: Any) -> bool:
    """Whether there is a CUDA device; CUDA stays as it is."""
    if torch.version.cuda is None:
        return False
    try:
        return bool(torch.cuda.is_available())
    except Exception:
        return False


def is_lost() -> bool:
    """Whether a kernel failed (an index out of range, a probability above 1): this process cannot use the device any more."""
    torch = sys.modules.get("torch")
    if torch is None or torch.version.cuda is None or not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


@contextmanager
def untouched() -> Iterator[None]:
    """While this lasts, torch finds no CUDA device, and whatever asks for one nevertheless raises.

    Raises:
        RuntimeError: where something initializes CUDA.
    """
    import torch

    if torch.version.cuda is None or torch.cuda.is_initialized():
        yield
        return
    exchanged: list[tuple[Any, str, Any]] = [
        (torch.cuda, "is_available", lambda: False),
        (torch._C, "_accelerator_getAccelerator", lambda: None),
        (torch._C, "_ensureCUDADeviceGuardSet", lambda: None),  # it counts devices
    ]
    lazy = torch.cuda._lazy_init
    holders = [module for name, module in list(sys.modules.items()) if name.startswith("torch.cuda")]
    exchanged += [(one, "_lazy_init", _refuse) for one in holders if vars(one).get("_lazy_init") is lazy]
    exchanged = [one for one in exchanged if hasattr(one[0], one[1])]  # which of them there are depends on the version
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in exchanged]
    try:
        for owner, name, other in exchanged:
            setattr(owner, name, other)
        yield
    finally:
        for owner, name, former in kept:
            setattr(owner, name, former)
        _forget()


def _refuse() -> NoReturn:
    raise RuntimeError("a process that forks leaves CUDA alone")


def _forget() -> None:
    """What torch found out about devices while there seemed to be none, and keeps."""
    known = sys.modules.get("torch.utils._triton")
    for one in vars(known).values() if known is not None else ():
        if callable(clear := getattr(one, "cache_clear", None)):
            clear()
