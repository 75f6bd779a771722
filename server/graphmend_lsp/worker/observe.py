"""Run one call of a program and take down all that can be told of it: results, gradients, state, effects, exception.

For children that run user code. What is compared with what is decided elsewhere (`compare`).
"""

from __future__ import annotations

import contextlib
import copy
import enum
import functools
import hashlib
import random
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .backward import is_spent
from .effects import Effect, Listener
from .exercised import unwatched
from .snapshot import (
    MAX_NODES,
    TEXTS,
    Leaf,
    Snapshot,
    Store,
    modules_of,
    normalise,
    raw_bytes,
    take,
    take_into,
    tensors_of,
    type_name,
)

_MODULE_INNARDS = frozenset((*vars(torch.nn.Module()), "_is_torch_compile")) - {"training"}  # a mark of torch.compile
_SEED = 1234


@dataclass(frozen=True)
class Raised:
    """An exception as a caller sees it: its type, its message, and the types it was raised from."""

    type: str
    message: str
    causes: tuple[str, ...] = ()
    stage: str = "call"


@dataclass(frozen=True)
class Observation:
    """One call. `parts` are snapshots by what they are of: output, gradient, input, state, random state."""

    label: str
    parts: Mapping[str, Snapshot]
    effects: tuple[Effect, ...]
    raised: Raised | None


@dataclass(frozen=True)
class Subject:
    """What is run: the function to call (compiled or not), its modules by name, the Python modules of the program.

    `held` are objects and cells of closures by name, in which the function keeps more (`parts`).
    """

    function: Callable[..., Any]
    modules: Mapping[str, torch.nn.Module]
    files: tuple[types.ModuleType, ...]
    held: Mapping[str, Any] = field(default_factory=dict)

    def held_now(self) -> dict[str, Any]:
        """What it holds at this moment, by name; cells that are empty are left out."""
        found = {}
        for name, one in self.held.items():
            with contextlib.suppress(ValueError):
                found[name] = one.cell_contents if isinstance(one, types.CellType) else one
        return found


def observe(
    subject: Subject,
    label: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    store: Store,
    listener: Listener,
    luck: int = 0,
) -> Observation:
    """Call once, then backward through a seeded projection of every floating output that has a gradient.

    All calls of one `luck` begin with the same state of the random generators.
    """
    inputs = (tuple(args), dict(kwargs))
    with unwatched():
        leaves = _leaves(subject, inputs)
        for _, leaf in leaves:
            leaf.grad = None
    seed(_SEED + luck)
    listener.take()
    raised: Raised | None = None
    parts: dict[str, Snapshot] = {"output": {}, "gradient": {}}
    stage = "call"
    try:
        output = subject.function(*args, **kwargs)
        with unwatched():
            parts["output"] = take(output, store)
            parts["gradient"] = _gradients(leaves, store)  # of the program's own backward pass
        stage = "backward"
        if _backward(output):
            with unwatched():
                parts["gradient"] = _gradients(leaves, store)
    except (Exception, SystemExit) as error:  # `sys.exit` in a call is an exception like any other
        raised = _raised(error, stage)
    effects = listener.take()
    for _, leaf in leaves:
        leaf.grad = None
    with listener.unheard(), unwatched():
        parts["input"] = take(inputs, store)
        parts["random state"] = _random_state()
        parts["state"] = store.once("state", state_of(subject, store))
    return Observation(label, parts, effects, raised)


def draws(seen: Observation) -> bool:
    """Whether a call (of luck 0) leaves the random generators in another state than it finds them in."""
    seed(_SEED)
    found = seen.parts.get("random state", {})
    return any(leaf != found.get(name, leaf) for name, leaf in _random_state().items())


def seed(value: int) -> None:
    """Set every random generator that the program may draw from."""
    if _knows_no_device():
        torch.default_generator.manual_seed(value)
    else:
        torch.manual_seed(value)
    random.seed(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(value)


_TRACED = re.compile(
    r"sub_(?:called|changing|may_be_caught|raised)(?:_\d+)?"
)  # what Dynamo keeps of the support module's constants among a file's globals


@functools.cache
def _knows_no_device() -> bool:
    """Whether this torch computes on the CPU only: then there is one generator. For others each call takes down its stack."""
    versions = (torch.version.cuda, torch.version.hip, getattr(torch.version, "xpu", None))
    other = hasattr(torch, torch._C._get_privateuse1_backend_name())
    return not any(versions) and not other and sys.platform != "darwin"


def state_of(subject: Subject, store: Store) -> Snapshot:
    """Parameters, buffers, flags and plain attributes of the modules; the plain data in the program's own globals and objects."""
    out: Snapshot = {}
    seen: dict[int, str] = {}
    known: set[int] = set()
    for root, module in subject.modules.items():
        _module_state(out, root, module, store, seen, known)
    for file in subject.files:
        name = file.__name__.rsplit(".", 1)[-1]
        for key, value in list(vars(file).items()):
            for word, one in class_data(value, file).items():
                take_into(out, one, store, f"{name}.{key}.{word}", seen)
            if key.startswith("__") or _TRACED.fullmatch(key) or not _is_data(value, subject.files):
                continue
            if isinstance(value, torch.nn.Module):
                module = value._orig_mod if _is_dynamos(value) else value
                if id(module) not in known:
                    _module_state(out, f"{name}.{key}", module, store, seen, known)
                continue
            take_into(out, value, store, f"{name}.{key}", seen)
    for name, value in subject.held_now().items():
        if not isinstance(value, torch.nn.Module):
            take_into(out, value, store, name, seen)
    return out


def fresh_calls(
    calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Copies of all calls' arguments, made together, so that what two calls share they share in the copies too.

    Modules, parameters and what cannot be copied stay the program's own.
    """
    memo: dict[Any, Any] = {}
    return [
        (
            tuple(_fresh(value, memo) for value in args),
            {name: _fresh(value, memo) for name, value in kwargs.items()},
        )
        for args, kwargs in calls
    ]


def _fresh(value: Any, memo: dict[Any, Any]) -> Any:
    for _, module in modules_of(value):
        memo.setdefault(id(module), module)
    for _, tensor in tensors_of(value):
        if id(tensor) not in memo:
            memo[id(tensor)] = tensor if isinstance(tensor, torch.nn.Parameter) else _copy(tensor, memo)
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # a generator, a lock, an open file: there is only the one
        memo[id(value)] = value
        return value


def _copy(tensor: torch.Tensor, memo: dict[Any, Any]) -> torch.Tensor:
    """A copy with the same strides; views of one memory become views of one copied memory.

    A view stays one: what was compiled for a view is compiled anew for another tensor.
    """
    detached = tensor.detach()
    base = tensor._base
    if base is not None and _is_plain(base) and _is_plain(tensor) and base.dtype == tensor.dtype:
        if id(base) not in memo:
            memo[id(base)] = _copy(base, memo)
        view = memo[id(base)].as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
        return view.requires_grad_(tensor.requires_grad)
    if type(tensor) is torch.Tensor and tensor.layout == torch.strided and not tensor.is_quantized:
        storage = detached.untyped_storage()
        key = ("storage", storage._cdata)
        if key not in memo:
            memo[key] = storage.clone()
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        made.set_(memo[key], detached.storage_offset(), detached.size(), detached.stride())
        made = torch._neg_view(made) if detached.is_neg() else made
        made = made.conj() if detached.is_conj() else made
    else:
        made = detached.clone()
    return made.requires_grad_(tensor.requires_grad)


def _is_plain(tensor: torch.Tensor) -> bool:
    strided = type(tensor) is torch.Tensor and tensor.layout == torch.strided and not tensor.is_quantized
    return strided and tensor.is_leaf and not (tensor.is_neg() or tensor.is_conj())


def _leaves(subject: Subject, inputs: Any) -> list[tuple[str, torch.Tensor]]:
    """Everything a gradient may arrive at: inputs that ask for one, and the parameters."""
    found = [(f"input{path}", tensor) for path, tensor in tensors_of(inputs) if tensor.is_leaf and tensor.requires_grad]
    known = {id(tensor) for _, tensor in found}
    for root, module in subject.modules.items():
        for name, parameter in module.named_parameters(prefix=root):
            if parameter.requires_grad and id(parameter) not in known:
                known.add(id(parameter))
                found.append((name, parameter))
    return found


def _gradients(leaves: Sequence[tuple[str, torch.Tensor]], store: Store) -> Snapshot:
    found: Snapshot = {}
    for name, leaf in leaves:
        if leaf.grad is not None:
            take_into(found, leaf.grad, store, name, {})
    return found


def _backward(output: Any) -> bool:
    """Backward through a random projection (a plain sum would hide what cancels); whether there was anything to do."""
    roots = [
        tensor
        for _, tensor in tensors_of(output)
        if tensor.requires_grad  # an input that is returned has no history of its own, but a gradient
        and tensor.layout == torch.strided
        and (tensor.is_floating_point() or tensor.is_complex())
    ]
    if not roots:
        return False
    generator = torch.Generator().manual_seed(_SEED)
    weights = []
    for tensor in roots:
        kind = torch.complex64 if tensor.is_complex() else torch.float32
        weight = torch.randn(tensor.shape, generator=generator, dtype=kind)
        weights.append(weight.to(device=tensor.device, dtype=tensor.dtype))
    try:
        torch.autograd.backward(roots, weights)
    except RuntimeError as error:
        if is_spent(error):  # the gradients are those of the program's own pass
            return False
        raise
    return True


def _raised(error: BaseException, stage: str) -> Raised:
    causes: list[str] = []
    cause = error.__cause__
    while cause is not None and len(causes) < 8:
        if not type(cause).__module__.startswith("torch._dynamo"):
            causes.append(type_name(cause))
        cause = cause.__cause__
    message = str(error).split("\n\nfrom user code:")[0].split("\n\nSet TORCHDYNAMO_VERBOSE")[0].strip()
    return Raised(type_name(error), normalise(message), tuple(causes), stage)


def _random_state() -> Snapshot:
    states: dict[str, bytes] = {"torch": raw_bytes(torch.get_rng_state()), "random": repr(random.getstate()).encode()}
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        _, keys, *rest = numpy.random.get_state()
        states["numpy"] = keys.tobytes() + repr(rest).encode()
    if torch.cuda.is_initialized():
        states["cuda"] = raw_bytes(torch.cuda.get_rng_state())
    return {name: Leaf(hashlib.blake2b(state, digest_size=8).hexdigest()) for name, state in states.items()}


def _module_state(
    out: Snapshot, root: str, module: torch.nn.Module, store: Store, seen: dict[int, str], known: set[int]
) -> None:
    for prefix, part in module.named_modules(prefix=root):
        known.add(id(part))
        if _is_dynamos(part):
            continue
        for tensors in (part._parameters, part._buffers):
            for name, tensor in tensors.items():
                if isinstance(tensor, torch.Tensor) and len(out) < MAX_NODES:
                    out[f"{prefix}.{name}"] = store.lasting(tensor)
                else:
                    take_into(out, tensor, store, f"{prefix}.{name}", {})
        for name, value in list(vars(part).items()):
            if name in _MODULE_INNARDS:
                continue
            if type(value) in TEXTS and len(out) < MAX_NODES:
                out[f"{prefix}.{name}"] = store.plain(value)
            elif not _is_code(value):
                take_into(out, value, store, f"{prefix}.{name}", seen)


def class_data(value: Any, file: types.ModuleType) -> dict[str, Any]:
    """The plain values and tensors that a class of that module keeps for all of its objects; empty for what is no such class."""
    if not isinstance(value, type) or value.__module__ != file.__name__ or issubclass(value, enum.Enum):
        return {}
    kept = (*TEXTS, float, list, dict, set, torch.Tensor)
    return {word: one for word, one in vars(value).items() if not word.startswith("__") and isinstance(one, kept)}


def _is_dynamos(module: torch.nn.Module) -> bool:
    """Whether it is what torch.compile wraps a module in."""
    return type(module).__module__.startswith("torch._dynamo.")


def _is_code(value: Any) -> bool:
    return callable(value) and not isinstance(value, torch.Tensor) and not hasattr(value, "__dict__")


def _is_data(value: Any, files: Sequence[types.ModuleType]) -> bool:
    """Whether a global is state: data, or an object of a class that the program itself defines."""
    if isinstance(value, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return False
    if isinstance(value, torch.nn.Module):
        return True
    kind = type(value)
    return kind.__module__ in ("builtins", "collections", "torch", "numpy", "torch.nn.parameter", "types") or any(
        kind.__module__ == file.__name__ for file in files
    )
