"""What an argument of a constructor or function is likely to be, from its name and its annotation. Pure.

The numbers fit each other: heads divide widths, patches divide pictures, positions are more than the tokens of an input.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from .values import Drawn, Made, New

WIDTH, LENGTH, ROWS, SIDE = 32, 16, 2, 32
_NUMBERS: tuple[tuple[str, float | int | bool], ...] = (
    (r"drop|(^|_)(p|prob|probability)$", 0.0),
    (r"(^|_)(eps|epsilon)$", 1e-5),
    (r"bias|^(use|is|with|has|do|enable|return|causal|inplace|training|affine)(_|$)", True),
    (r"head_dim|dim_head|head_size|d_head|dim_per_head", 8),
    (r"kv_head|key_value_head", 2),
    (r"heads?$|n_head", 4),
    (r"layers?$|depth|blocks?$|n_layer|num_stages?|repeat", 2),
    (r"vocab|num_embeddings|n_tokens?$|num_tokens|n_words|ntoken", 64),
    (r"experts?_per|top_?k|num_selected|^k$", 2),
    (r"experts?$", 4),
    (r"num_class|n_class|num_labels|n_labels|classes|num_outputs", 10),
    (r"kernel|^ks$", 3),
    (r"stride|dilation|groups?$|upscale|downscale|expansion", 1),
    (r"pad", 1),
    (r"patch", 4),
    (r"image_?size|img_?size|resolution|height|width$|^(h|w)$", SIDE),
    (r"window", 4),
    (r"in_chan|in_ch$|^channels?$|^c$|in_planes|inplanes|^nc$|num_channels|in_chans", 4),
    (r"out_chan|out_ch$|planes|filters|chan", 8),
    (
        r"max_?(seq|len|pos|position)|max_seq|seq_?len|block_size|context|n_ctx|length|positions?$|n_position|timesteps|max_",
        64,
    ),
    (r"ratio|mult|scale|factor|temperature|alpha|beta|gamma|theta|sigma|rate", 2.0),
    (r"batch|^(b|n)$", ROWS),
    (r"rank|num_groups|states?$|bins?$|buckets?", 4),
    (r"hidden|inner|ff|mlp|inter", 64),
    (r"dim|size|width|features?|units?|d_model|embd?|^(d|in|out|input|output|emb|ch)$|_(in|out)$", WIDTH),
)
_IDS = re.compile(
    r"(^|_)(ids?|idx|idxs|index|indices|tokens?|labels?|targets?|input_ids|timesteps?|positions?)$|^(src|tgt)_(ids|tokens)$"
)
_CONFIGURATION = re.compile(r"(Config|Args|Configuration|HParams|Params)$")
_MASK = re.compile(r"mask$")


def number(name: str, wanted: type | None = None) -> float | int | bool | None:
    """A number for a name; `wanted` is what its annotation says. None for a name that says nothing."""
    for pattern, value in _NUMBERS:
        if re.search(pattern, name.lower()):
            if wanted is bool:
                return bool(value) if isinstance(value, bool) else False
            if wanted is int:
                return int(value) if not isinstance(value, bool) else 1
            if wanted is float:
                return float(value)
            return value
    return {int: 4, float: 1.0, bool: False}.get(wanted) if wanted is not None else None


def is_ids(name: str) -> bool:
    """Whether a tensor of this name holds whole numbers that name things."""
    return _IDS.search(name.lower()) is not None


def is_mask(name: str) -> bool:
    """Whether a tensor of this name tells which values count."""
    return _MASK.search(name.lower()) is not None


class Maker:
    """Makes arguments; `known` are the names of the program's file, `depth` bounds objects within objects."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def arguments(self, function: Callable[..., Any], depth: int = 0) -> tuple[dict[str, object], list[str]]:
        """Values for the arguments that must be given, and the names of those that nothing is known of."""
        made: dict[str, object] = {}
        unknown: list[str] = []
        hints = self._hints(function)
        for name, parameter in signature(function).items():
            if parameter.default is not parameter.empty:
                continue
            value = self.value(name, hints.get(name, parameter.annotation), depth)
            if value is None:
                unknown.append(name)
            else:
                made[name] = value
        return made, unknown

    def value(self, name: str, annotation: Any, depth: int = 0) -> object | None:
        """A value of one argument, None when nothing is known of it."""
        if isinstance(annotation, str):
            annotation = self._resolved(annotation)
        if annotation is inspect.Parameter.empty or annotation is Any or isinstance(annotation, (str, typing.TypeVar)):
            return self._unannotated(name, depth)
        origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self.value(name, inner[0], depth)
        if origin is typing.Union or isinstance(annotation, types.UnionType):
            chosen = [one for one in inner if one is not type(None)]
            return next((made for one in chosen if (made := self.value(name, one, depth)) is not None), None)
        if origin is typing.Literal:
            literal: object = inner[0]
            return literal
        if annotation in (int, float, bool):
            return number(name, annotation)
        if annotation is str:
            return _word(name)
        if origin in (list, tuple, Sequence) or annotation in (list, tuple):
            return self._several(name, origin or annotation, inner, depth)
        if isinstance(annotation, type):
            return self._instance(name, annotation, depth)
        if origin is not None and _is_callable_type(origin):
            return self._function(name)
        return self._unannotated(name, depth)

    def _unannotated(self, name: str, depth: int) -> object | None:
        if re.search(r"(^|_)(config|cfg|conf|args|hparams|params|opt|opts|options)$", name.lower()):
            return self._configuration(depth)
        if re.search(r"(^|_)(act|activation|act_fn|activation_fn|nonlinearity)$", name.lower()):
            return self._function(name)
        if re.search(r"norm_layer|norm_class", name.lower()):
            import torch

            return torch.nn.LayerNorm
        if re.search(
            r"(dims|sizes|channels|features|depths|layers|hidden)s?_?list$|^(dims|channels_list|hidden_sizes|layer_sizes|hidden_dims|sizes|widths)$",
            name.lower(),
        ):
            return Made("list", (WIDTH, WIDTH))
        return number(name)

    def _several(self, name: str, kind: Any, inner: tuple[Any, ...], depth: int) -> object | None:
        items = [one for one in inner if one is not Ellipsis] or [int]
        wanted = items if kind is tuple and Ellipsis not in inner and len(items) > 1 else items[:1] * 2
        singular = name[:-1] if name.endswith("s") else name
        made = [self.value(singular, one, depth) for one in wanted]
        if any(one is None for one in made):
            return None
        return Made("tuple" if kind is tuple else "list", tuple(made))

    def _instance(self, name: str, kind: type, depth: int) -> object | None:
        import torch

        if issubclass(kind, torch.Tensor):
            return Drawn("normal", (WIDTH,))
        if kind is torch.device:
            return New(torch.device, (("type", "cpu"),))
        if kind is torch.nn.Module:
            return self._function(name) if "act" in name else New(torch.nn.Identity, ())
        if issubclass(kind, enum.Enum):
            return next(iter(kind), None)
        if kind in (dict, set, object) or _is_callable_type(kind) or depth > 2 or inspect.isabstract(kind):
            return self._function(name) if _is_callable_type(kind) else None
        return self.instance(kind, depth + 1)

    def instance(self, kind: type, depth: int) -> object | None:
        """An object of a class of the program's own, its arguments made up like its user's."""
        made, unknown = self.arguments(kind, depth)
        return None if unknown else New(kind, tuple(made.items()))

    def _configuration(self, depth: int) -> object:
        """The file's own configuration class where there is one; else an object that learns its names from errors."""
        for name, kind in self.known.items():
            if depth > 2 or not isinstance(kind, type) or not _CONFIGURATION.search(name):
                continue
            if (dataclasses.is_dataclass(kind) or not signature(kind)) and (made := self.instance(kind, depth + 1)):
                return made
        return New(types.SimpleNamespace, ())

    def _function(self, name: str) -> object:
        import torch

        if "norm" in name:
            return torch.nn.LayerNorm
        if "layer" in name:
            return torch.nn.GELU
        return torch.nn.functional.relu

    def _hints(self, function: Callable[..., Any]) -> dict[str, Any]:
        target = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]
        try:
            return typing.get_type_hints(target)
        except Exception:  # names that only a type checker sees
            return {}

    def _resolved(self, written: str) -> Any:
        return {"int": int, "float": float, "bool": bool, "str": str}.get(written, self.known.get(written, written))


def signature(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that can be given by name; none for what has no signature."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: one for name, one in parameters.items() if one.kind not in variadic}


def _is_callable_type(kind: Any) -> bool:
    import collections.abc

    return kind in (collections.abc.Callable, typing.Callable, types.FunctionType)


def _word(name: str) -> str | None:
    words = {
        "act": "relu",
        "activation": "relu",
        "pad": "zeros",
        "mode": "mean",
        "device": "cpu",
        "norm": "layer",
        "reduction": "mean",
    }
    return next((word for key, word in words.items() if key in name.lower()), None)
