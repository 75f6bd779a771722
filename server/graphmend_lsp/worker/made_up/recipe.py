"""How a made-up program is made, as data: found once, by trying, and cooked as often as it is needed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import MethodType, ModuleType
from typing import Any

from ..compiling import uncompiled
from ..failures import FailedError, failure
from ..wire import EntrySpec
from . import pretrained
from .lacking import lacking
from .modules import Arguments, arranged, construct, find_arguments, made_module
from .names import signature
from .repair import is_of_sizes
from .search import Found, search, sentence
from .shrink import ALL_SIZES, APART, LEVELS, PARTS
from .trial import Trouble, attempt, trouble_of
from .values import New, describe, draw

_SECONDS = 45.0
_SMALL_SECONDS = 8.0  # of them for a model as small as it gets; most models run so at once
_LARGE = 4_000_000  # parameters: then more of the configuration is made small
_SEED = 20240917


@dataclass(frozen=True)
class Recipe:
    """`level` is how far a transformers configuration is shrunk, `lacked` what it lacks, by dotted name; `how` makes the
    module that is called, or whose method is."""

    inputs: dict[str, Any] = field(default_factory=dict)
    level: int = 0
    lacked: dict[str, Any] = field(default_factory=dict)
    how: New | None = None


class NoInputsError(Exception):
    """Nothing was found that the program takes. The message says why; `so_far` what was tried, for a reader."""

    def __init__(self, why: str, so_far: str = "") -> None:
        super().__init__(why)
        self.so_far = so_far


def find(module: ModuleType, entry: EntrySpec, mode: str) -> Recipe:
    """Try until the program takes what is made up for it.

    Raises:
        NoInputsError: it never did.
        FailedError: there is no such thing in the file.
    """
    import torch

    with torch.compiler.set_stance("force_eager"):
        if entry["kind"] == "transformers":
            return _find_pretrained(_named(module, entry), mode)
        return _find_plain(module, entry, mode)


def cook(
    module: ModuleType, entry: EntrySpec, recipe: Recipe
) -> tuple[Callable[..., Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """The callable and its one call, from a seed of their own."""
    import torch

    torch.manual_seed(_SEED)
    if entry["kind"] == "transformers":
        kind = _named(module, entry)
        program: Callable[..., Any] = pretrained.filled(
            partial(kind, pretrained.small_config(kind, recipe.level, recipe.lacked))
        )
        return program, [((), _drawn(recipe))]
    program, _ = _program(module, entry, recipe.how)
    values = _drawn(recipe)
    return program, [arranged(signature(_called(program)), values)]


def _drawn(recipe: Recipe) -> dict[str, Any]:
    import torch

    torch.manual_seed(_SEED)
    return {name: draw(value) for name, value in recipe.inputs.items()}


def _find_pretrained(kind: Any, mode: str) -> Recipe:
    import torch

    if not pretrained.takes_configuration(kind) or kind.config_class is None:
        raise NoInputsError(f"{getattr(kind, '__name__', 'it')} names no config_class")
    begun = time.monotonic()
    first: tuple[Trouble, str] | None = None
    large: tuple[int, Recipe] | None = None
    levels = [level for level in range(len(LEVELS)) if level != PARTS]
    if pretrained.is_of_uneven_parts(kind):
        levels.insert(0, PARTS)
    more: dict[str, Any] = {}  # what the configuration was seen to lack
    while levels and (left := _SECONDS - (time.monotonic() - begun)) > 0:
        level = levels.pop(0)
        torch.manual_seed(_SEED)
        try:
            model, config, lacked = pretrained.built(kind, level, more)
        except Exception as error:
            first = first or ((trouble_of(error), "") if level else None)
            continue
        model.train(mode == "train")
        made = pretrained.Inputs(kind, config, mode, small=LEVELS[level].images)
        missing: dict[str, Any] = {}
        unmasked: list[dict[str, Any]] = []  # inputs that fit while every mask takes everything

        def call(
            inputs: dict[str, Any],
            model: Any = model,
            config: Any = config,
            missing: dict[str, Any] = missing,
            unmasked: list[dict[str, Any]] = unmasked,
        ) -> Trouble | None:
            torch.manual_seed(_SEED)
            try:
                values = {name: draw(value) for name, value in inputs.items()}
            except Exception as error:
                return trouble_of(error)
            trouble = attempt(model, (), values, gradients=mode == "train")
            if trouble is None and (masked := pretrained.with_padding(inputs, values)):
                hidden = attempt(model, (), masked, gradients=mode == "train")
                trouble = hidden if hidden is not None and is_of_sizes(hidden) else None
                unmasked += [inputs] if trouble is not None else []
            if trouble is not None and not missing:
                missing.update(lacking(trouble, config))
            return trouble

        small = LEVELS[level].images
        found = search(call, made.first(), made.allowed, made.guess, min(left, _SMALL_SECONDS) if small else left)
        if found.trouble is not None and unmasked:
            found = Found(unmasked[0], None, found.trials)
        if found.trouble is None:
            recipe, count = Recipe(found.inputs, level, lacked), sum(one.numel() for one in model.parameters())
            if large is not None or ALL_SIZES not in levels or count <= _LARGE:
                return recipe if large is None or count < large[0] else large[1]
            levels, large = [ALL_SIZES], (count, recipe)
        elif large is not None:
            break
        elif missing.keys() - more.keys() and len(more) < pretrained.MOST_LACKING:
            more = {**lacked, **missing}
            levels.insert(0, level)
        elif not small:  # what is this small may not fit; what is missing is told of what is larger
            if level > APART and first is not None and first[0].words == found.trouble.words:
                break  # the configuration's size is not what is wrong
            name = kind.__name__
            first = first or (found.trouble, f"model = {name}({name}.config_class())\n{_told(found.inputs)}")
    if large is not None:
        return large[1]
    assert first is not None
    raise NoInputsError(sentence(first[0]), first[1])


def _find_plain(module: ModuleType, entry: EntrySpec, mode: str) -> Recipe:
    import torch

    torch.manual_seed(_SEED)
    how = _how(module, entry)
    try:
        program, owner = _program(module, entry, how)
    except FailedError:
        raise
    except Exception as error:
        raise NoInputsError(sentence(trouble_of(error)), "" if how is None else _made(how)) from error
    if isinstance(owner, torch.nn.Module):
        owner.train(mode == "train")
    called = _called(program)
    arguments = Arguments(called, owner if isinstance(owner, torch.nn.Module) else None, vars(module))
    torch.manual_seed(_SEED)
    found = find_arguments(_plain(program), arguments, gradients=mode == "train")
    if found.trouble is None:
        return Recipe(found.inputs, how=how)
    missing = [name for name, needed in arguments.allowed.items() if needed and name not in found.inputs]
    why = f"GraphMend cannot tell what {' and '.join(missing)} should be" if missing else sentence(found.trouble)
    raise NoInputsError(why, "\n".join([*([_made(how)] if how is not None else []), _told(found.inputs)]))


def _how(module: ModuleType, entry: EntrySpec) -> New | None:
    """How the object is made that is called, or whose method is; None for what the file holds ready to be called."""
    import torch

    owner, _, method = entry["function"].rpartition(".")
    thing = getattr(module, owner or method, None)
    if not isinstance(thing, type):
        return None
    if not owner and not issubclass(thing, torch.nn.Module):
        raise NoInputsError(f"{method} is no nn.Module")
    made = construct(thing, vars(module))
    if made.trouble is not None:
        raise NoInputsError(f"its constructor fails: {sentence(made.trouble)}", _made(made.how))
    return made.how


def _program(module: ModuleType, entry: EntrySpec, how: New | None) -> tuple[Callable[..., Any], Any]:
    """What is called, and the object whose layers take the arguments."""
    owner, _, method = entry["function"].rpartition(".")
    if how is not None:
        made = made_module(how)
        return (getattr(made, method), made) if owner else (made, made)
    thing = _named(module, entry)
    if not callable(thing):
        raise FailedError(_bad(entry))
    return thing, getattr(thing, "_orig_mod", thing)


def _called(program: Any) -> Callable[..., Any]:
    """The function whose parameters count."""
    import torch

    plain = _plain(program)
    return plain.forward if isinstance(plain, torch.nn.Module) else plain


def _plain(program: Any) -> Callable[..., Any]:
    if isinstance(program, MethodType):
        return MethodType(uncompiled(program.__func__), program.__self__)
    return uncompiled(program)


def _named(module: ModuleType, entry: EntrySpec) -> Any:
    thing: Any = module
    for part in entry["function"].split("."):
        thing = getattr(thing, part, None)
    if thing is None:
        raise FailedError(_bad(entry))
    return thing


def _bad(entry: EntrySpec) -> Any:
    message = f"{os.path.basename(entry['file'])} has nothing to call named {entry['function']}."
    return failure("entry", "bad-entry", message, "Write a graphmend_entry function.", entry["file"])


def _made(how: New) -> str:
    return f"model = {describe(how)}"


def _told(inputs: dict[str, object]) -> str:
    return "\n".join(f"{name} = {describe(value)}" for name, value in inputs.items())
