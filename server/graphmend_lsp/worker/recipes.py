"""Which other calls are made of an entry's: recipes, without the values. Deterministic.

Values stay where a program can be expected to take them: integers within what was seen (indices), masks between 0 and 1,
shapes changed alike in all inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from .altered import WEIGHTS
from .call_modes import WORDS, CallMode
from .other_numbers import NUMBERS, has_number
from .snapshot import tensors_of

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
HALF_DRAWS = 15
"""One rounding to float16 that comes too early leaves about every second result as it was."""
MOST_LUCK = 24
"""What happens in one call of ten is missed by all of these once in twelve programs."""
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
    `luck` numbers other random numbers than those that all calls begin with. `call_mode` is how the call is made, of
    `call_modes`. `probe` names the use, of `probes`, that the entry does not show.
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
    luck: int = 0
    call_mode: CallMode = ""
    probe: str = ""

    @property
    def odd(self) -> bool:
        """Whether it is one of `odd` or `unusual`: a mend may be no *safe* one in it, but it shows no side of a condition."""
        return bool(self.dtype or self.call_mode or self.probe) or (
            self.resize is not None and self.resize[1] < self.resize[0]
        )

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
            words += " with inputs that are results of other operations"
        if self.numbers:
            words += f" with other Python {self.numbers}"
        if self.luck:
            words += f" with other random numbers ({self.luck})"
        if self.draw:
            words += f", draw {self.draw}"
        words += WORDS[self.call_mode]
        words += f" {self.probe}" if self.probe else ""
        if self.again:
            words += ", again"
        return words

    @property
    def use(self) -> str:
        """What of the call is other than in the entry, in words that many calls share."""
        words = [self.probe] if self.probe else []
        words += [f"floats in {self.dtype}"] if self.dtype else []
        words += ["other sizes"] if self.resize else []
        words += ["other random numbers"] if self.luck else []
        words += [f"{self.mode} mode"] if self.mode else []
        words += [WORDS[self.call_mode].strip(" ,")] if self.call_mode else []
        return ", ".join(words) or "other values"

    @property
    def seed(self) -> int:
        """A number that only this recipe has, the same in every process."""
        draw = f" {self.draw}" if self.draw else ""
        return zlib.crc32(f"{self.base} {self.floats} {self.ints} {self.bools} {self.only}{draw}".encode())


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


def searching(base: int, call: Arguments, has_weights: bool, draws: bool = False) -> Iterator[Recipe]:
    """More and stranger calls, to be tried while a side of a condition was not seen. `draws`: the call draws random numbers."""
    if draws:
        yield from (Recipe(base, luck=number) for number in range(1, MOST_LUCK + 1))
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


def unusual(recipe: Recipe, call: Arguments, modes: Sequence[CallMode]) -> list[Recipe]:
    """The call in those modes, and with each size made 1: a side that is not taken there may not take it."""
    shapes = [tensor.shape for _, tensor in tensors_of(call) if not isinstance(tensor, torch.nn.Parameter)]
    sizes = dict.fromkeys(size for shape in shapes for size in shape if size > 1)
    plain = [] if recipe.resize else [replace(recipe, resize=(size, 1), own=False) for size in list(sizes)[:MOST_SIZES]]
    return [*plain, *(replace(recipe, call_mode=mode, own=False) for mode in modes)]


def renumbering(base: int, call: Arguments) -> list[Recipe]:
    """Other Python numbers where there are some: Dynamo takes one that changes for a number that is not known."""
    return [Recipe(base, numbers=kind) for kind in ("floats", "integers") if has_number(call, NUMBERS[kind])]


def reflagging(base: int, call: Arguments) -> list[Recipe]:
    """All flags among the arguments the other way round, where there are some."""
    return [Recipe(base, numbers="flags")] if has_number(call, NUMBERS["flags"]) else []


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
