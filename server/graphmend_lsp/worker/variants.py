"""Other calls made from the entry's own: other values, other weights, another shape. Deterministic; runs no user code.

A `Recipe` says how; the same recipe gives the same call in every process. Values stay where a program can be expected
to take them: integers within what was seen (indices), masks between 0 and 1, shapes changed alike in all inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from .altered import WEIGHTS, poke
from .manners import WORDS, Manner, transposed
from .observe import fresh_calls
from .snapshot import tensors_of

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
HALF_DRAWS = 15
"""One rounding to float16 that comes too early leaves about every second result as it was."""
MOST_SIZES = 3
"""Of the sizes of a call that are made 1, one at a time."""


@dataclass(frozen=True)
class Recipe:
    """How a call is made from the entry's call number `base`.

    `floats`, `ints` and `bools` name what is done to tensors of that kind ("" leaves them), to the one with index
    `only` or to all; then `spot` puts one number at one place of floating tensors, or everywhere. `weights` is done to
    parameters and floating buffers for this call alone. `resize` says which size becomes which, `axis` limits that to one
    dimension. `gradients` asks for gradients of floating inputs. `own` calls take the entry's objects as they are after the
    calls before, all others take fresh copies. `mode` puts the modules into ``train`` or ``eval`` for this call alone.
    `raises`: the original raises, and only that is compared. `dtype` is that of floating tensors, where another is given.
    `draw` numbers calls that differ in nothing but their random numbers. `history`: with `gradients`, floating inputs are
    results of an operation and no leaves. `numbers`: the Python floats, integers or flags among the arguments are others.
    `manner` is how the call is made, of `manners`.
    """

    base: int
    floats: str = ""
    ints: str = ""
    bools: str = ""
    only: int | None = None
    spot: str = ""
    weights: str = ""
    resize: tuple[int, int] | None = None
    axis: int | None = None
    gradients: bool = False
    own: bool = False
    again: bool = False
    mode: Literal["", "train", "eval"] = ""
    raises: bool = False
    dtype: Literal["", "float64", "float16"] = ""
    draw: int = 0
    history: bool = False
    numbers: Literal["", "floats", "integers", "flags"] = ""
    manner: Manner = ""

    @property
    def odd(self) -> bool:
        """Whether it is one of `odd` or `unusual`: a mend may be no *safe* one in it, but it shows no side of a condition."""
        return bool(self.dtype or self.manner) or (self.resize is not None and self.resize[1] < self.resize[0])

    @property
    def label(self) -> str:
        """How the call is named to people."""
        words = f"call {self.base + 1}"
        kinds = [
            f"{name} {kind}"
            for name, kind in (("floats", self.floats), ("ints", self.ints), ("bools", self.bools))
            if kind
        ]
        if kinds:
            words += f" with {', '.join(kinds)}" + (f" in tensor {self.only + 1}" if self.only is not None else "")
        if self.spot:
            words += f" with {self.spot}"
        if self.weights:
            words += f" with weights {self.weights}"
        if self.dtype:
            words += f" with floats in {self.dtype}"
        if self.resize:
            words += f" with size {self.resize[0]} made {self.resize[1]}"
        if self.mode:
            words += f" in {self.mode} mode"
        if self.history:
            words += " with inputs that have a history"
        if self.numbers:
            words += f" with other Python {self.numbers}"
        if self.draw:
            words += f", draw {self.draw}"
        words += WORDS[self.manner]
        if self.again:
            words += ", again"
        return words

    @property
    def seed(self) -> int:
        """A number that only this recipe has, the same in every process."""
        draw = f" {self.draw}" if self.draw else ""
        return zlib.crc32(f"{self.base} {self.floats} {self.ints} {self.bools} {self.only}{draw}".encode())


def make(recipe: Recipe, calls: Sequence[Arguments]) -> Arguments:
    """The arguments of the call that a recipe describes, as fresh copies."""
    ((args, kwargs),) = fresh_calls([calls[recipe.base]])
    tensors = [tensor for _, tensor in tensors_of((args, kwargs)) if not isinstance(tensor, torch.nn.Parameter)]
    replaced: dict[int, torch.Tensor] = {}
    generator = torch.Generator().manual_seed(recipe.seed)
    for index, tensor in enumerate(tensors):
        changed = tensor
        if recipe.only is None or recipe.only == index:
            changed = _other_values(changed, recipe, generator, tensors)
            if recipe.spot and changed.is_floating_point() and changed.numel():
                changed = _laid_like(changed, SPOTS[recipe.spot](changed.detach())).requires_grad_(
                    changed.requires_grad
                )
        if recipe.dtype and changed.is_floating_point():
            changed = changed.detach().to(getattr(torch, recipe.dtype)).requires_grad_(changed.requires_grad)
        if recipe.resize is not None:
            changed = _resized(changed, recipe.resize, recipe.axis)
        if recipe.manner == "transposed":
            changed = transposed(changed)
        if recipe.gradients and changed.is_floating_point() and changed.is_leaf and not changed.requires_grad:
            changed = changed.clone() if changed is tensor else changed
            changed.requires_grad_()
            if recipe.history:
                changed = changed * 1
        if changed is not tensor:
            replaced[id(tensor)] = changed
    made = substitute((args, kwargs), replaced)
    if recipe.numbers:
        made = _renumbered(made, NUMBERS[recipe.numbers])
    return made[0], made[1]


def standard(base: int, call: Arguments) -> list[Recipe]:
    """What every mend is tried with, most telling first."""
    kinds = _kinds(call)
    recipes: list[Recipe] = []
    if kinds & {"float", "int", "bool"}:
        recipes.append(Recipe(base, "random", "permuted", "flipped"))
    if "float" in kinds:
        recipes += [Recipe(base, floats=kind) for kind in ("negated", "zero", "one NaN", "one inf", "large", "mixed")]
    if "int" in kinds:
        recipes += [Recipe(base, ints=kind) for kind in ("smallest", "largest")]
    if "bool" in kinds:
        recipes += [Recipe(base, bools=kind) for kind in ("true", "false")]
    return [_only_what_is_there(recipe, kinds) for recipe in recipes]


def searching(base: int, call: Arguments, has_weights: bool) -> Iterator[Recipe]:
    """More and stranger calls, to be tried while a side of a condition was not seen."""
    kinds = _kinds(call)
    tensors = [tensor for _, tensor in tensors_of(call) if not isinstance(tensor, torch.nn.Parameter)]
    if has_weights and "float" not in kinds:  # all that is computed comes of the weights then
        for kind in WEIGHTS:
            yield Recipe(base, weights=kind)
    if "float" in kinds:
        for kind in ("one", "tiny", "x100", "x0.01", "+100", "-100", "-inf", "positive", "all NaN", "all inf", "huge"):
            yield Recipe(base, floats=kind)
    if "int" in kinds:
        for kind in ("one smallest", "one largest", "one zero", "zero", "increasing", "one more"):
            yield Recipe(base, ints=kind)
    if len(tensors) > 1:
        for index, tensor in enumerate(tensors):
            if tensor.dtype == torch.bool:
                for kind in ("true", "false", "flipped"):
                    yield Recipe(base, bools=kind, only=index)
            elif tensor.is_floating_point():
                for kind in ("negated", "zero", "one", "large", "x0.01", "one NaN", "one inf", "like another"):
                    yield Recipe(base, floats=kind, only=index)
            elif not tensor.is_complex():
                for kind in ("smallest", "largest", "zero", "one zero", "permuted", "one more", "like another"):
                    yield Recipe(base, ints=kind, only=index)
    yield from reshaping(base, call, (2, 4, 16))
    if has_weights and "float" in kinds:
        for kind in WEIGHTS:
            yield Recipe(base, weights=kind)
        for kind in ("x1000", "negated"):
            yield Recipe(base, floats="large", weights=kind)


def reshaping(base: int, call: Arguments, factors: Sequence[int] = ()) -> list[Recipe]:
    """Other shapes: each size that occurs, in one dimension of all inputs or everywhere, one larger and doubled."""
    shapes = [tuple(tensor.shape) for _, tensor in tensors_of(call) if not isinstance(tensor, torch.nn.Parameter)]
    recipes: list[Recipe] = []
    for axis in (0, 1):
        sizes = dict.fromkeys(shape[axis] for shape in shapes if len(shape) > axis and shape[axis] > 0)
        for size in sizes:
            news = [size * factor for factor in factors] or [size + 1, size * 2]
            recipes += [Recipe(base, resize=(size, new), axis=axis) for new in news]
    for size in dict.fromkeys(size for shape in shapes for size in shape if size > 1):
        recipes += [Recipe(base, resize=(size, new)) for new in ([size * factor for factor in factors] or [size + 1])]
    return recipes


def odd(base: int, call: Arguments) -> list[Recipe]:
    """Calls that a program may get and its tests forget: without elements, with floats of another dtype.

    Of float16 there are many: a number that is rounded to it too early changes about every second result.
    """
    tensors = [tensor for _, tensor in tensors_of(call) if not isinstance(tensor, torch.nn.Parameter)]
    sizes = dict.fromkeys(tensor.shape[0] for tensor in tensors if tensor.dim() and tensor.shape[0] > 0)
    found = [Recipe(base, resize=(size, 0), axis=0) for size in list(sizes)[:1]]
    floats = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    if floats - {torch.float64}:
        found.append(Recipe(base, dtype="float64"))
    if floats & {torch.float32, torch.float64}:
        found.append(Recipe(base, dtype="float16"))
        found += [Recipe(base, floats="random", dtype="float16", draw=number) for number in range(1, HALF_DRAWS + 1)]
    return found


def unusual(recipe: Recipe, call: Arguments, manners: Sequence[Manner]) -> list[Recipe]:
    """The call in those manners, and with each size made 1: a side that is not taken there may not take it."""
    shapes = [tensor.shape for _, tensor in tensors_of(call) if not isinstance(tensor, torch.nn.Parameter)]
    sizes = dict.fromkeys(size for shape in shapes for size in shape if size > 1)
    plain = [] if recipe.resize else [replace(recipe, resize=(size, 1), own=False) for size in list(sizes)[:MOST_SIZES]]
    return [*plain, *(replace(recipe, manner=manner, own=False) for manner in manners)]


def renumbering(base: int, call: Arguments) -> list[Recipe]:
    """Other Python numbers where there are some: Dynamo takes one that changes for a number that is not known."""
    return [Recipe(base, numbers=kind) for kind in ("floats", "integers") if _has(call, NUMBERS[kind])]


def reflagging(base: int, call: Arguments) -> list[Recipe]:
    """All flags among the arguments the other way round, where there are some."""
    return [Recipe(base, numbers="flags")] if _has(call, NUMBERS["flags"]) else []


def gradient_of(recipe: Recipe) -> Recipe:
    """The same call with gradients of its floating inputs."""
    return replace(recipe, gradients=True, own=False)


def asks_gradients(call: Arguments) -> bool:
    """Whether some floating input does not ask for its gradient yet."""
    return any(
        tensor.is_floating_point() and tensor.is_leaf and not tensor.requires_grad
        for _, tensor in tensors_of(call)
        if not isinstance(tensor, torch.nn.Parameter)
    )


SPOTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "one element 0": lambda t: poke(t, 0.0),
    "one element 1": lambda t: poke(t, 1.0),
    "one element -1": lambda t: poke(t, -1.0),
    "all elements equal": lambda t: t.reshape(-1)[-1:].expand(t.numel()).reshape(t.shape).clone(),
}
"""Where operations have no finite gradient, although the sum of all elements stays about as it was."""


@dataclass(frozen=True)
class Numbers:
    """Python values of exactly one type, and what takes their place: near, so that a program still takes them."""

    type: type
    other: Callable[[Any], Any]


NUMBERS: Mapping[str, Numbers] = {
    "floats": Numbers(float, lambda value: value * 0.75 or 0.25),
    "integers": Numbers(int, lambda value: value + 1),
    "flags": Numbers(bool, lambda value: not value),
}


def _renumbered(value: Any, numbers: Numbers) -> Any:
    """The value with other numbers, which are looked for in plain containers only: objects may be settings."""
    if type(value) is numbers.type:
        return numbers.other(value)
    if type(value) in (tuple, list):
        return type(value)(_renumbered(part, numbers) for part in value)
    if type(value) is dict:
        return {key: _renumbered(part, numbers) for key, part in value.items()}
    return value


def _has(value: Any, numbers: Numbers) -> bool:
    if type(value) in (tuple, list):
        return any(_has(part, numbers) for part in value)
    if type(value) is dict:
        return any(_has(part, numbers) for part in value.values())
    return type(value) is numbers.type


def _other_values(
    tensor: torch.Tensor, recipe: Recipe, generator: torch.Generator, all_tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    if tensor.layout != torch.strided or tensor.is_quantized or not tensor.numel():
        return tensor
    if tensor.dtype == torch.bool:
        made = _bools(tensor, recipe.bools)
    elif tensor.is_floating_point():
        made = _floats(tensor, recipe.floats, generator, all_tensors)
    elif tensor.is_complex():
        made = None if not recipe.floats else tensor.detach() * (1 + 1j)
    else:
        made = _ints(tensor, recipe.ints, generator, all_tensors)
    if made is None:
        return tensor
    return _laid_like(tensor, made.to(tensor.dtype)).requires_grad_(tensor.requires_grad)


def _laid_like(tensor: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """`made` with the strides of `tensor`, for which a program was compiled, unless elements of that share memory."""
    if made.shape != tensor.shape:
        return made
    if (viewed := tensor._base) is not None and viewed.layout == torch.strided:
        # A view stays one: what was compiled for it is compiled anew for another tensor.
        base = viewed.detach().clone().to(made.dtype)
        if base.stride() == viewed.stride():
            view = base.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
            return view.copy_(made) if not _overlaps(tensor) else made
    if made.stride() == tensor.stride():
        return made if made._base is None else made.clone()
    if _overlaps(tensor):
        return made
    laid = torch.empty_strided(tensor.size(), tensor.stride(), dtype=made.dtype, device=made.device)
    return laid.copy_(made)


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements of a tensor may share memory."""
    reach = 0  # of the dimensions so far, from the innermost on
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _floats(
    tensor: torch.Tensor, kind: str, generator: torch.Generator, all_tensors: Sequence[torch.Tensor]
) -> torch.Tensor | None:
    if not kind:
        return None
    value = tensor.detach().float() if tensor.element_size() < 4 else tensor.detach().clone()
    limit = torch.finfo(tensor.dtype).max

    def noise() -> torch.Tensor:
        return torch.randn(value.shape, generator=generator).to(value.device, value.dtype)

    makers: dict[str, Callable[[], torch.Tensor]] = {
        "random": lambda: noise() * (_spread(value) or 1.0) + _center(value),
        "negated": lambda: -value,
        "zero": lambda: torch.zeros_like(value),
        "one": lambda: torch.ones_like(value),
        "large": lambda: noise() * min(1e4, limit / 8),
        "huge": lambda: noise().sign() * (limit / 2),
        "tiny": lambda: noise() * 1e-6,
        "mixed": lambda: value.abs() * noise().sign(),
        "positive": lambda: value.abs() + 1,
        "x100": lambda: value * 100,
        "x0.01": lambda: value * 0.01,
        "+100": lambda: value + 100,
        "-100": lambda: value - 100,
        "one NaN": lambda: poke(value, float("nan")),
        "one inf": lambda: poke(value, float("inf")),
        "-inf": lambda: poke(value, float("-inf")),
        "all NaN": lambda: torch.full_like(value, float("nan")),
        "all inf": lambda: torch.full_like(value, float("inf")),
        "like another": lambda: _like_another(tensor, all_tensors),
    }
    return makers[kind]()


def _ints(
    tensor: torch.Tensor, kind: str, generator: torch.Generator, all_tensors: Sequence[torch.Tensor]
) -> torch.Tensor | None:
    if not kind:
        return None
    value = tensor.detach().clone()
    wide = value.to(torch.int64)
    largest, smallest = int(wide.max()), int(wide.min())
    if smallest > 0:
        smallest = 0  # where a positive number is good as an index, zero is too

    def permuted() -> torch.Tensor:
        order = torch.randperm(value.numel(), generator=generator).to(value.device)
        return value.reshape(-1)[order].reshape(value.shape)

    def increasing() -> torch.Tensor:
        return (torch.arange(value.numel(), device=value.device) % (largest - smallest + 1) + smallest).reshape(
            value.shape
        )

    makers: dict[str, Callable[[], torch.Tensor | None]] = {
        "permuted": permuted,
        "smallest": lambda: torch.full_like(value, smallest),
        "largest": lambda: torch.full_like(value, largest),
        "zero": lambda: torch.zeros_like(value),
        "one smallest": lambda: poke(value, smallest),
        "one largest": lambda: poke(value, largest),
        "one zero": lambda: poke(value, 0),
        "increasing": increasing,
        # out of range on purpose; on CUDA a bad index ends the process instead of raising
        "one more": lambda: poke(value, largest + 1) if value.device.type == "cpu" else None,
        "like another": lambda: _like_another(tensor, all_tensors),
    }
    return makers[kind]()


def _bools(tensor: torch.Tensor, kind: str) -> torch.Tensor | None:
    if not kind:
        return None
    value = tensor.detach()
    return {"flipped": ~value, "true": torch.ones_like(value), "false": torch.zeros_like(value)}[kind]


def _resized(tensor: torch.Tensor, resize: tuple[int, int], axis: int | None) -> torch.Tensor:
    old, new = resize
    made = tensor
    for dimension in range(tensor.dim()):
        if tensor.shape[dimension] == old and (axis is None or axis == dimension):
            index = torch.arange(new, device=tensor.device) % old
            made = made.detach().index_select(dimension, index)
    return made if made is tensor else made.requires_grad_(tensor.requires_grad)


def substitute(value: Any, replaced: Mapping[int, torch.Tensor]) -> Any:
    """The (changeable) value with some tensors replaced, wherever in containers and objects they are."""
    if isinstance(value, torch.Tensor):
        return replaced.get(id(value), value)
    if isinstance(value, torch.nn.Module) or not replaced:
        return value
    if isinstance(value, tuple):
        parts = [substitute(part, replaced) for part in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return tuple(parts) if type(value) is tuple else value
    if isinstance(value, list):
        value[:] = [substitute(part, replaced) for part in value]
    elif isinstance(value, dict):
        for key in list(value):
            value[key] = substitute(value[key], replaced)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        for name, part in list(vars(value).items()):
            new = substitute(part, replaced)
            if new is not part:
                object.__setattr__(value, name, new)
    return value


def _like_another(tensor: torch.Tensor, all_tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    for other in all_tensors:
        if other is not tensor and other.shape == tensor.shape and other.dtype == tensor.dtype:
            return other.detach().clone()
    return tensor.detach().clone()


def _spread(value: torch.Tensor) -> float:
    finite = value[torch.isfinite(value)]
    return float(finite.std()) if finite.numel() > 1 else 1.0


def _center(value: torch.Tensor) -> float:
    finite = value[torch.isfinite(value)]
    return float(finite.mean()) if finite.numel() else 0.0


def _kinds(call: Arguments) -> set[str]:
    kinds: set[str] = set()
    for _, tensor in tensors_of(call):
        if isinstance(tensor, torch.nn.Parameter):
            continue
        if tensor.dtype == torch.bool:
            kinds.add("bool")
        elif tensor.is_floating_point() or tensor.is_complex():
            kinds.add("float")
        else:
            kinds.add("int")
    return kinds


def _only_what_is_there(recipe: Recipe, kinds: set[str]) -> Recipe:
    return replace(
        recipe,
        floats=recipe.floats if "float" in kinds else "",
        ints=recipe.ints if "int" in kinds else "",
        bools=recipe.bools if "bool" in kinds else "",
    )
