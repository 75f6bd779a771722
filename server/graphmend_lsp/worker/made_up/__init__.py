"""Entries without asking: a model or function of a file built and called with arguments that are made up.

What may be guessed is guessed from names, annotations, configurations and first layers; what was guessed wrongly is
corrected from the error that it raises, a bounded number of times, uncompiled. What is found is plain data (`Recipe`),
found in a child process, so that the tries leave nothing behind in the program that is then analysed; the same file
gives the same recipe every time. Standard library, torch and what the program imports; no part of the server.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, cast

from ..failures import FailedError, failure, failure_of
from ..handed import arguments_of, tell_arguments
from ..isolate import call_in_child
from ..processes import can_fork
from ..wire import EntrySpec, FailureData, Limits
from .recipe import NoInputsError, Recipe, cook, find

__all__ = ["KINDS", "REMEDY", "make_up"]

KINDS = frozenset(("transformers", "compiled", "module"))
REMEDY = "Write a graphmend_entry function that returns (callable, args)."
SECONDS = 60.0
MEMORY_MB = 6000


def make_up(
    module: ModuleType, entry: EntrySpec, mode: str
) -> tuple[Callable[..., Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """The callable of an entry of one of `KINDS`, and its calls.

    Raises:
        FailedError: ``bad-entry`` when the file has nothing of that name, ``no-inputs`` with what is missing.
    """
    return cook(module, entry, _recipe(module, tuple(entry.items()), mode))


@lru_cache(maxsize=4)
def _recipe(module: ModuleType, items: tuple[tuple[str, str], ...], mode: str) -> Recipe:
    """Kept, because a fake run builds its program once for each side of a branch."""
    entry = cast(EntrySpec, dict(items))
    found = arguments_of(Recipe) or _searched(module, entry, mode)
    tell_arguments(found)
    if isinstance(found, Recipe):
        return found
    raise FailedError(found)


def _searched(module: ModuleType, entry: EntrySpec, mode: str) -> Recipe | FailureData:
    if not can_fork():
        return _found(module, entry, mode)
    limits = Limits(seconds=SECONDS, memory_mb=MEMORY_MB)
    outcome = call_in_child(partial(_found, module, entry, mode), limits, "entry")
    if outcome.failure is not None:
        raise FailedError(_no_inputs(entry, outcome.failure["message"].rstrip("."), outcome.failure["detail"]))
    assert outcome.value is not None
    return outcome.value


def _found(module: ModuleType, entry: EntrySpec, mode: str) -> Recipe | FailureData:
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    if can_fork():
        torch.set_num_threads(1)  # threads of the process this one was forked from are not here
    try:
        with _disable_current_modes():  # the data is real, also where a fake run asks
            return find(module, entry, mode)
    except NoInputsError as error:
        return _no_inputs(entry, str(error), error.so_far)
    except FailedError as error:
        return error.failure
    except BaseException as error:
        return failure_of(error, "entry")


def _no_inputs(entry: EntrySpec, why: str, detail: str = "") -> FailureData:
    name = f"{os.path.basename(entry['file'])}:{entry['function']}"
    message = f"GraphMend could not guess inputs for {name}: {why}."
    return failure("entry", "no-inputs", message, REMEDY, entry["file"], None, detail)
