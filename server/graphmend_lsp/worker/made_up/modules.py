"""Modules and functions of any program: constructor arguments from names and annotations, inputs from first layers."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .annotations import Shapes
from .layers import first_layer, taken_by_layers
from .names import LENGTH, ROWS, WIDTH, Maker, is_ids, is_mask, number, signature
from .pretrained import filled
from .search import Found, search
from .shrink import LEVELS, MOST_PARAMETERS, small_values
from .trial import Trouble, attempt, trouble_of
from .values import Drawn, Made, New, draw

_CONSTRUCTIONS = 12
_NO_ATTRIBUTE = re.compile(r"'types\.SimpleNamespace' object has no attribute '(\w+)'")
_NO_SUCH = re.compile(r"'(\w+)' object has no attribute '\w+'")
_LARGE = 30_000_000


@dataclass(frozen=True)
class Construction:
    """How an object is made; `trouble` when it cannot be, `missing` the arguments that nothing is known of."""

    how: New
    trouble: Trouble | None = None
    missing: tuple[str, ...] = ()


def construct(kind: type, known: dict[str, Any]) -> Construction:
    """How to make an object of the class: with its defaults where they do, smaller where those are large."""
    maker = Maker(known)
    made, unknown = maker.arguments(kind)
    how = New(kind, tuple(made.items()))
    if unknown:
        return Construction(
            how, Trouble("TypeError", f"GraphMend cannot tell what {' and '.join(unknown)} should be"), tuple(unknown)
        )
    trouble: Trouble | None = None
    for _ in range(_CONSTRUCTIONS):
        parameters, trouble = _tried(how)
        if trouble is None and parameters > _LARGE and (smaller := _smaller(kind, how)) != how:
            if _tried(smaller)[1] is None:
                how = smaller
            break
        if trouble is None:
            break
        changed = _changed(how, trouble)
        if changed is None:
            break
        how = changed
    return Construction(how, trouble)


def _tried(how: New) -> tuple[int, Trouble | None]:
    """How many parameters it has, and what making it raises."""
    import torch

    try:
        with torch.device("meta"):
            built = draw(how)
    except NotImplementedError:
        built = None
    except Exception as error:
        if "meta" not in str(error):
            return 0, trouble_of(error)
        built = None
    parameters = built.parameters() if isinstance(built, torch.nn.Module) else ()
    count = sum(one.numel() for one in parameters if not torch.nn.parameter.is_lazy(one))
    if count > MOST_PARAMETERS:
        return count, Trouble("MemoryError", f"it has {count:,} parameters")
    return count, None


def _changed(how: New, trouble: Trouble) -> New | None:
    """A configuration object gets the attribute that was asked of it; one of another class gives way to a plain one."""
    if (found := _NO_ATTRIBUTE.search(trouble.message)) is not None:
        name = found[1]
        value = number(name)
        for key, item in how.items:
            if isinstance(item, New) and item.factory is types.SimpleNamespace and name not in dict(item.items):
                return how.given(**{key: item.given(**{name: WIDTH if value is None else value})})
    if (found := _NO_SUCH.search(trouble.message)) is not None:
        for key, item in how.items:
            if isinstance(item, New) and getattr(item.factory, "__name__", "") == found[1]:
                return how.given(**{key: New(types.SimpleNamespace, ())})
    return None


def _smaller(kind: type, how: New) -> New:
    """The same with small numbers where the defaults are large ones."""
    changes: dict[str, Any] = {}
    for name, parameter in signature(kind).items():
        default = parameter.default
        if isinstance(default, int) and not isinstance(default, bool):
            small = number(name, int)
            if small is not None and default > small:
                changes[name] = small
    for key, item in how.items:
        if isinstance(item, New) and dataclasses.is_dataclass(item.factory):
            changes[key] = item.given(**small_values(draw(item), LEVELS[0]))
    return how.given(**changes)


class Arguments:
    """What the arguments of one callable are made of. `owner` is the module whose layers take them, if there is one."""

    def __init__(self, function: Callable[..., Any], owner: Any, known: dict[str, Any]) -> None:
        self.function, self.owner = function, owner
        self.maker = Maker(known)
        self.parameters = signature(function)
        self.hints = self.maker._hints(inspect.unwrap(function))
        self.allowed = {name: one.default is one.empty for name, one in self.parameters.items()}
        self.shapes = Shapes(self._told_sizes())
        self._method = getattr(function, "__func__", function)

    def first(self) -> dict[str, object]:
        """The arguments that must be given."""
        made = {name: self.guess(name) for name, needed in self.allowed.items() if needed}
        return {name: value for name, value in made.items() if value is not None}

    def guess(self, name: str) -> object | None:
        """A value of an argument, or of an item of a dictionary under this name."""
        parameter = self.parameters.get(name)
        written = parameter.annotation if parameter is not None else inspect.Parameter.empty
        if (told := self.shapes.drawn(written)) is not None or (
            told := self.shapes.drawn(self.hints.get(name))
        ) is not None:
            return self._fitted(name, told)
        annotation = self.hints.get(name, written)
        if _is_tensor(annotation) or annotation is inspect.Parameter.empty:
            return self._tensor(name, annotation)
        if (several := _tensors_in(annotation)) is not None:
            return self._several(name, several)
        return self.maker.value(name, annotation) if annotation is not None else self._tensor(name, annotation)

    def _tensor(self, name: str, annotation: Any) -> object:
        told = None
        if self.owner is not None:
            told = taken_by_layers(self.owner, name, self._method)
        if told is not None:
            return told
        if is_mask(name):
            return Drawn("mask", (ROWS, LENGTH))
        if is_ids(name):
            return Drawn("ids", (ROWS, LENGTH), 2)
        if not _is_tensor(annotation) and (value := self._plain(name)) is not None:
            return value
        if self.owner is not None and (told := first_layer(self.owner)) is not None:
            return told if told.is_float or len(self.allowed) == 1 else Drawn("normal", (ROWS, LENGTH))
        return Drawn("normal", (8, 8))

    def _plain(self, name: str) -> object | None:
        """A number for a name without annotation that is surely no tensor's."""
        if re.search(
            r"^(n|num|max|min|dim|axis|size|k|eps|scale|factor|threshold|steps?|alpha|beta|p|n_\w+|num_\w+|max_\w+)$",
            name,
        ):
            return 1 if name in ("dim", "axis") else number(name) if number(name) is not None else 2
        if re.search(r"^(training|causal|is_\w+|use_\w+|return_\w+|verbose|debug)$", name):
            return False
        return None

    def _several(self, name: str, kind: str) -> object:
        one = self._tensor(name, inspect.Parameter.empty)
        if kind == "dict":
            return Made("dict", ())
        return Made("tuple" if kind == "tuple" else "list", (one, one))

    def _fitted(self, name: str, told: Drawn) -> Drawn:
        """Where an annotation and a layer both speak of a tensor: ids below what the layer knows."""
        if told.kind == "ids" and self.owner is not None:
            layer = taken_by_layers(self.owner, name, self._method)
            if layer is not None and layer.kind == "ids":
                return replace(told, high=layer.high)
        return told

    def _told_sizes(self) -> dict[str, int]:
        """Numbers that the module itself keeps under a name: ``self.dim`` for an annotation with ``dim`` in it."""
        if self.owner is None:
            return {}
        return {
            name: value
            for name, value in vars(self.owner).items()
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 4096
        }


def find_arguments(program: Callable[..., Any], made: Arguments, *, gradients: bool) -> Found:
    """Arguments that the program takes, uncompiled."""
    import torch

    state = torch.random.get_rng_state()

    def call(inputs: dict[str, object]) -> Trouble | None:
        torch.random.set_rng_state(state)
        try:
            values = {name: draw(value) for name, value in inputs.items()}
        except Exception as error:
            return trouble_of(error)
        return attempt(functools.partial(_by_position, program, made.parameters), (values,), {}, gradients=gradients)

    return search(call, made.first(), made.allowed, made.guess)


def _by_position(program: Callable[..., Any], parameters: dict[str, inspect.Parameter], values: dict[str, Any]) -> Any:
    args, kwargs = arranged(parameters, values)
    return program(*args, **kwargs)


def arranged(
    parameters: dict[str, inspect.Parameter], values: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Values by name as positional arguments, as far as they are the first ones; the others as keywords."""
    args: list[Any] = []
    rest = dict(values)
    for name, parameter in parameters.items():
        if name not in rest or parameter.kind is parameter.KEYWORD_ONLY:
            break
        args.append(rest.pop(name))
    return tuple(args), rest


def made_module(how: New) -> Any:
    """The object, no weight of it left as memory happened to be."""
    return filled(lambda: draw(how))


def _is_tensor(annotation: Any) -> bool:
    import torch

    given = [one for one in typing.get_args(annotation) if one is not type(None)]
    if len(given) == 1 and typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        return _is_tensor(given[0])
    if isinstance(annotation, str):
        return annotation.split(".")[-1].rstrip("]").endswith("Tensor") and "[" not in annotation
    return isinstance(annotation, type) and issubclass(annotation, torch.Tensor)


def _tensors_in(annotation: Any) -> str | None:
    """``list``, ``tuple`` or ``dict`` of tensors, None for anything else."""
    written = annotation if isinstance(annotation, str) else str(annotation)
    found = re.match(r"(?:typing\.)?(list|tuple|dict|sequence|mapping)\b.*Tensor", written, re.IGNORECASE)
    if found is None:
        return "dict" if annotation is dict else None
    return {"mapping": "dict", "sequence": "list"}.get(found[1].lower(), found[1].lower())
