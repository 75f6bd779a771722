"""A torch that seems to have a CUDA device, for Python processes that find this folder on PYTHONPATH.

It keeps the one rule that matters here: no fork of a process that initialized CUDA, or counted its devices through the
runtime, can use it. What happens is written to the file `FAKED_CUDA_LOG`, a line each: ``initialized PID``,
``counted PID``, ``bad fork PID``, ``lost PID``. With `FAKED_CUDA_DEVICE` tensors and modules can be moved there, and stay on
the CPU; a cross entropy whose uint8 targets are out of range then makes a kernel fail, and no linear layer computes any more.
"""

import importlib.abc
import importlib.machinery
import os
import sys

LOG = os.environ["FAKED_CUDA_LOG"]


class Device:
    """What a process knows of the device: the process that used it first, and the one that initialized it."""

    used = None
    initialized = None
    lost = False

    @classmethod
    def note(cls, what):
        with open(LOG, "a") as file:
            file.write(f"{what} {os.getpid()}\n")

    @classmethod
    def is_in_bad_fork(cls):
        return cls.used not in (None, os.getpid())

    @classmethod
    def initialize(cls, *_args, **_keywords):
        if cls.is_in_bad_fork():
            cls.note("bad fork")
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
        if cls.initialized != os.getpid():
            cls.note("initialized")
            cls.used = cls.initialized = os.getpid()

    @classmethod
    def check(cls):
        if cls.lost:
            raise RuntimeError("CUDA error: device-side assert triggered")

    @classmethod
    def count(cls):
        if cls.used is None:
            cls.note("counted")
            cls.used = os.getpid()

    @classmethod
    def is_available(cls):
        if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
            return False
        if os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK") != "1":
            cls.count()
        return True


def fake(torch):
    """Put the device into torch."""

    def counting(function):
        def counted(*args, **keywords):
            Device.count()
            return function(*args, **keywords)

        return counted

    def initializing(result=None):  # each a function of its own: Dynamo has a rule for each
        def initialize(*_args, **_keywords):
            Device.initialize()
            Device.check()
            return None if result is None else result.clone()

        return initialize

    torch.version.cuda = "13.0"
    torch.cuda.is_available = Device.is_available
    torch.cuda.device_count = lambda: int(os.environ.get("CUDA_VISIBLE_DEVICES") != "")
    torch.cuda.is_initialized = lambda: Device.initialized == os.getpid()
    torch.cuda._is_in_bad_fork = Device.is_in_bad_fork
    for name in ("_lazy_init", "synchronize", "set_rng_state"):
        setattr(torch.cuda, name, initializing())
    torch.cuda.get_rng_state = initializing(torch.zeros(16, dtype=torch.uint8))
    for name in ("_ensureCUDADeviceGuardSet", "_accelerator_getAccelerator", "_cuda_getDeviceCount"):
        if hasattr(torch._C, name):
            setattr(torch._C, name, counting(getattr(torch._C, name)))
    if "FAKED_CUDA_DEVICE" in os.environ:
        for owner in (torch.Tensor, torch.nn.Module):
            owner.to = moving(torch, owner.to)
        failing(torch)


def moving(torch, to):
    """`Tensor.to` or `Module.to` with the CPU in the place of CUDA."""

    def moved(value):
        if isinstance(value, (str, torch.device)) and str(value).startswith("cuda"):
            Device.initialize()
            return "cpu"
        return value

    def other(self, *args, **keywords):
        return to(self, *map(moved, args), **{name: moved(value) for name, value in keywords.items()})

    return other


def failing(torch):
    """Kernels that fail, and the layers that notice."""
    functional = torch.nn.functional
    cross_entropy, linear = functional.cross_entropy, torch.nn.Linear.forward

    def checked(scores, targets, **keywords):
        if (
            os.environ.get("CUDA_VISIBLE_DEVICES") != ""
            and targets.dtype is torch.uint8
            and int(targets.max()) >= scores.shape[-1]
        ):
            Device.note("lost")
            Device.lost = True
            Device.check()
        return cross_entropy(scores, targets, **keywords)

    def forward(self, x):
        if Device.lost:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return linear(self, x)

    functional.cross_entropy, torch.nn.Linear.forward = checked, forward


class Finder(importlib.abc.MetaPathFinder):
    """Fakes as soon as torch is imported."""

    def find_spec(self, name, path, target=None):  # noqa: ARG002
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                fake(module)

            spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
