"""The user's program: its file loaded as Python would load it, its entry run, its calls ready to be made.

Runs in a child process only (it changes sys.path, sys.modules and random state). Errors leave as `FailedError`.
What torch.compile does to the program is `compiling`'s; how unsaved text takes a file's place is `texts`'.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from . import notebook
from .compiling import set_up_torch
from .failures import FailedError, failure, failure_of, names
from .first_values import repeated_draws
from .parts import parts_of
from .places import same_file
from .texts import TextLoader, exists, install_texts, unsaved_text
from .wire import EntrySpec

__all__ = ["Call", "Program", "build", "install_texts", "load_module", "seed", "set_threads"]

SEED = 20240917
EXPECTED = (
    "Return (callable, args) from the entry; args is a tuple (positional), a dict (keywords), or a list of such calls."
)


@dataclass(frozen=True)
class Call:
    """The arguments of one call of the program."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Program:
    """What an entry gave: the callable (not compiled by us), its calls in order, its file's module, the device."""

    callable: Callable[..., Any]
    calls: list[Call]
    module: ModuleType
    device: str


def load_module(entry: EntrySpec, roots: Sequence[str]) -> ModuleType:
    """Import the entry's file; `roots` are put in front of sys.path.

    A file of a package is imported as the package's module, a file of site-packages by its import name, any other under
    its stem with its folder in front of sys.path, as running it as a script would.

    Raises:
        FailedError: the file is missing, or importing it raised.
    """
    file = entry["file"]
    if not exists(file):
        raise FailedError(failure("load", "import", f"There is no file {file}.", "Correct the entry's path.", file))
    name, folder = module_name(file)
    front = list(dict.fromkeys([*roots, *([folder] if folder is not None and folder not in sys.path else [])]))
    sys.path[:] = [*front, *(item for item in sys.path if item not in front)]
    sys.argv = [file]
    try:
        importlib.invalidate_caches()
        if file.endswith(notebook.SUFFIX):
            return _load_notebook(entry)
        if name is None or _is_taken(name, file):
            return _load_alone(file)
        module = importlib.import_module(name)
        if not same_file(getattr(module, "__file__", None) or "", file):
            return _load_alone(file)
    except BaseException as error:
        raise FailedError(failure_of(error, "load")) from error
    return module


def build(module: ModuleType, entry: EntrySpec, device: Literal["auto", "cpu", "cuda"], mode: str) -> Program:
    """Run the entry and make its program ready: seeded, on the device, in eval or train mode.

    Raises:
        FailedError: ``bad-entry`` saying what is expected, ``device``, or what the entry raised.
    """
    target = choose_device(device)
    seed()
    try:
        with repeated_draws(SEED):
            function, calls = _program(module, entry, mode)
        seed()
        parts = list(parts_of(function))
        if device != "auto" or (target != "cpu" and all(_places(part) <= {"cpu"} for part in parts)):
            for part in parts:
                part.to(target)
            calls = [_moved(call, target) for call in calls]
        for part in parts:
            part.train(mode == "train")
        set_up_torch()
    except FailedError:
        raise
    except BaseException as error:
        raise FailedError(failure_of(error, "entry")) from error
    return Program(function, calls, module, target)


def _program(module: ModuleType, entry: EntrySpec, mode: str) -> tuple[Callable[..., Any], list[Call]]:
    if entry["kind"] == "kernelbench":
        return _kernelbench(module, entry)
    if entry["kind"] == "function":
        return _function(module, entry)
    if entry["kind"] == notebook.KIND:
        function, calls = notebook.calls_of(module, entry)
        return function, [Call(args, kwargs) for args, kwargs in calls]
    from .made_up import make_up

    function, calls = make_up(module, entry, mode)
    return function, [Call(args, kwargs) for args, kwargs in calls]


def choose_device(wanted: Literal["auto", "cpu", "cuda"]) -> str:
    """The device to run on.

    Raises:
        FailedError: CUDA is wanted and there is none.
    """
    import torch

    if wanted == "cpu":
        return "cpu"
    available = torch.version.cuda is not None and torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise FailedError(failure("entry", "device", "torch finds no CUDA device.", "Choose device auto or cpu."))
    return "cuda" if available else "cpu"


def seed() -> None:
    """Put every random generator that the program may use into one known state."""
    import torch

    random.seed(SEED)
    torch.manual_seed(SEED)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(SEED % 2**32)


def set_threads(beside: int = 1) -> None:
    """Let torch compute with several threads; not in a process that forks afterwards (its children would hang).

    `beside` processes compute at the same time and share the cores: threads that wait for a core spin on it.
    """
    import torch

    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(int(told) if told.isdigit() and int(told) else max(1, cores // beside))


def module_name(file: str) -> tuple[str | None, str | None]:
    """Under which name a file is imported, and the folder that must be on sys.path for it.

    The name is None when the file's name is no identifier.
    """
    folder, base = os.path.split(os.path.abspath(file))
    stem = os.path.splitext(base)[0]
    installed = _installed_name(file)
    if installed is not None:
        return installed, None
    parts = [] if stem == "__init__" else [stem]
    while exists(os.path.join(folder, "__init__.py")):
        folder, last = os.path.split(folder)
        if not last:
            break
        parts.insert(0, last)
    return (".".join(parts) if parts and all(part.isidentifier() for part in parts) else None), folder


def _installed_name(file: str) -> str | None:
    real = os.path.realpath(file)
    for root in sys.path:
        if os.path.basename(root) not in ("site-packages", "dist-packages"):
            continue
        for spelling, base in ((file, root), (real, os.path.realpath(root))):
            if spelling.startswith(base + os.sep):
                parts = os.path.splitext(os.path.relpath(spelling, base))[0].split(os.sep)
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None
    return None


def _is_taken(name: str, file: str) -> bool:
    """Whether importing this name would give, or replace, a module that is not the file: ``json.py``, ``torch.py``."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "torch":
        return not (name in sys.modules and same_file(getattr(sys.modules[name], "__file__", None) or "", file))
    known = sys.modules.get(name)
    return known is not None and not same_file(getattr(known, "__file__", None) or "", file)


def _load_notebook(entry: EntrySpec) -> ModuleType:
    file = entry["file"]
    text = unsaved_text(file)
    if text is None:
        raise FailedError(
            failure("load", "import", f"{file} is a notebook, whose cells are not known here.", "Open it.", file)
        )
    stem = os.path.splitext(os.path.basename(file))[0]
    module = ModuleType("graphmend_entry_" + re.sub(r"\W", "_", stem))
    module.__file__ = file
    sys.modules[module.__name__] = module
    folder = notebook.folder_of(file)
    if os.path.isdir(folder):
        os.chdir(folder)  # as a kernel
    seed()  # what the cells draw is the same in each process
    with repeated_draws(SEED):
        notebook.carry_out(module, text, entry)
    return module


def _load_alone(file: str) -> ModuleType:
    stem = os.path.splitext(os.path.basename(file))[0]
    name = "graphmend_entry_" + re.sub(r"\W", "_", stem)
    text = unsaved_text(file)
    loader = None if text is None else TextLoader(name, file, text)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    if spec is None or spec.loader is None:
        raise FailedError(
            failure("load", "import", f"{file} is not a Python file.", "Name a .py file as the entry.", file)
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, entry: EntrySpec) -> tuple[Callable[..., Any], list[Call]]:
    name = entry["function"]
    function: Any = module
    for part in name.split("."):
        function = getattr(function, part, None)
    file = os.path.basename(entry["file"])
    if not callable(function):
        known = [key for key, value in vars(module).items() if key.startswith("graphmend_entry") and callable(value)]
        hint = f"It has {names(known)}." if known else EXPECTED
        what = "has no function" if function is None else "has no function but another object named"
        raise FailedError(failure("entry", "bad-entry", f"{file} {what} {name}.", hint, entry["file"]))
    line = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
    needed = _needed(function)
    if needed:
        message = f"The entry {name} needs {names(needed)}; GraphMend calls an entry without arguments."
        raise _bad_entry(entry, line, message, "Give its parameters defaults, or remove them.")
    result = function()
    if inspect.iscoroutine(result):
        result.close()
        raise _bad_entry(entry, line, f"The entry {name} is a coroutine; an entry must be a plain function.")
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise _bad_entry(entry, line, f"The entry {name} returned {_called(result)}, not a pair (callable, args).")
    program, args = result
    if not callable(program):
        raise _bad_entry(entry, line, f"The entry {name} returned {_called(program)} first, which cannot be called.")
    return program, _calls(args, entry, line)


def _calls(args: Any, entry: EntrySpec, line: int | None) -> list[Call]:
    if isinstance(args, list):
        if not args:
            raise _bad_entry(entry, line, f"The entry {entry['function']} returned an empty list of calls.")
        return [_call(item, entry, line, f"call {number} of its list") for number, item in enumerate(args)]
    return [_call(args, entry, line, "args")]


def _call(args: Any, entry: EntrySpec, line: int | None, where: str) -> Call:
    import torch

    if isinstance(args, torch.Tensor):
        return Call((args,), {})
    if isinstance(args, tuple):
        return Call(tuple(args), {})
    if isinstance(args, Mapping):
        if not all(isinstance(key, str) for key in args):
            message = f"The entry {entry['function']} returned {where} as a dict whose keys are not all strings."
            raise _bad_entry(entry, line, message)
        return Call((), dict(args))
    message = f"The entry {entry['function']} returned {_called(args)} as {where}; it must be a tuple or a dict."
    raise _bad_entry(entry, line, message)


def _kernelbench(module: ModuleType, entry: EntrySpec) -> tuple[Callable[..., Any], list[Call]]:
    """`Model(*get_init_inputs())` called with `get_inputs()`; ``[[...], {...}]`` is positional and keyword values."""
    wanted = {"Model": entry["function"] or "Model", "inputs": "get_inputs"}
    missing = [name for name in wanted.values() if not callable(getattr(module, name, None))]
    if missing:
        remedy = "A KernelBench file has a class Model and the functions get_inputs() and get_init_inputs()."
        message = f"{os.path.basename(entry['file'])} has no {names(missing)}."
        raise FailedError(failure("entry", "bad-entry", message, remedy, entry["file"]))
    initial: Any = getattr(module, "get_init_inputs", list)()
    positional, keywords = _split(initial)
    model = getattr(module, wanted["Model"])(*positional, **keywords)
    if not callable(model):
        raise _bad_entry(entry, None, f"{wanted['Model']}(...) cannot be called.")
    seed()
    inputs = module.get_inputs()
    positional, keywords = _split(inputs)
    return model, [Call(tuple(positional), dict(keywords))]


def _split(values: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    if isinstance(values, Mapping):
        return (), values
    listed = list(values)
    if len(listed) == 2 and isinstance(listed[0], (list, tuple)) and isinstance(listed[1], dict):
        return listed[0], listed[1]
    return listed, {}


def _needed(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [item.name for item in parameters if item.default is item.empty and item.kind not in variadic]


def _bad_entry(entry: EntrySpec, line: int | None, message: str, remedy: str = EXPECTED) -> FailedError:
    return FailedError(failure("entry", "bad-entry", message, remedy, entry["file"], line))


def _called(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, (tuple, list)):
        return f"a {kind} of {len(value)}"
    return "None" if value is None else f"a value of type {kind}"


def _places(part: Any) -> set[str]:
    tensors = [*part.parameters(), *part.buffers()]
    return {tensor.device.type for tensor in tensors}


def _moved(call: Call, device: str) -> Call:
    import torch
    from torch.utils import _pytree

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device.type == device:
            return value
        if value.is_leaf and value.requires_grad:
            return value.detach().to(device).requires_grad_()
        return value.to(device)

    return Call(_pytree.tree_map(move, call.args), _pytree.tree_map(move, call.kwargs))
