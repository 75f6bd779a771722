"""One call of a plan, made and observed; probes begin with the program as it was loaded. For children that run user code."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from .altered import other_mode, other_weights
from .call_modes import subject_in
from .cuda import is_lost
from .effects import Listener
from .float64 import Double, widened, widening
from .observe import Observation, Raised, Subject, observe
from .probes import Kept, limited, probed
from .recipes import Arguments, Recipe
from .snapshot import Store
from .variants import make, mark_changing

PROBE_SECONDS = 10.0  # that one probe may take
COMPILED_SECONDS = 60.0  # that it may take where the program is compiled for it


class TooLongError(BaseException):
    """A made-up call takes much longer than the entry's own. Passes through user code that catches `Exception`."""


class DeviceLostError(RuntimeError):
    """A call made a kernel fail: no further call can be made in this process. `recipe` is that of the call."""

    def __init__(self, recipe: Recipe, message: str) -> None:
        super().__init__(message)
        self.recipe = recipe

    @property
    def raised(self) -> Raised:
        """What the call raised."""
        return Raised("torch.AcceleratorError", str(self))


@contextmanager
def interrupted_after(seconds: float | None) -> Iterator[None]:
    """Raise `TooLongError` in the main thread when the time is over (where the system can do that)."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def perform(
    subject: Subject,
    recipe: Recipe,
    calls: Sequence[Arguments],
    pristine: Sequence[Arguments],
    store: Store,
    ear: Listener,
    *,
    double: Double = "",
    kept: Kept | None = None,
    seconds: float = PROBE_SECONDS,
    sizes: Sequence[Recipe] = (),
) -> Observation:
    """Make the call of a recipe and observe it. `calls` are the entry's own objects, `pristine` their copies.

    `sizes` are calls of other sizes for which the graph of this one shall serve, too.

    `double`: in float64; then `calls` are in it already. `kept` is the state from which probes are made, each in `seconds`.

    Raises:
        DeviceLostError: the call made a kernel fail.
    """
    with _noticing_loss(recipe):
        if recipe.probe:
            seen = _probe(subject, recipe, pristine, store, ear, kept, seconds)
        else:
            if kept is not None:
                kept.is_back = False
            args, kwargs = calls[recipe.base] if recipe.own else make(recipe, pristine)
            if double and not recipe.own:
                args, kwargs = widened((args, kwargs))
            if sizes and not recipe.own:
                mark_changing((args, kwargs), pristine[recipe.base], sizes)
            made = subject_in(recipe.call_mode, subject, (args, kwargs))
            with (
                other_weights(recipe.weights, subject.modules),
                other_mode(recipe.mode, subject.modules),
                widening() if double == "widened" else nullcontext(),
            ):
                seen = observe(made, recipe.label, args, kwargs, store, ear, recipe.luck)
    if seen.raised is not None and is_lost():
        raise DeviceLostError(recipe, seen.raised.message)
    return seen


@contextmanager
def _noticing_loss(recipe: Recipe) -> Iterator[None]:
    """What looking at a program raises once a kernel failed is a `DeviceLostError`."""
    try:
        yield
    except Exception as error:
        if is_lost():
            raise DeviceLostError(recipe, str(error)) from error
        raise


def _probe(
    subject: Subject,
    recipe: Recipe,
    pristine: Sequence[Arguments],
    store: Store,
    ear: Listener,
    kept: Kept | None,
    seconds: float,
) -> Observation:
    """A call in a use that the entry does not show, from the state that the program was loaded in."""
    if kept is not None:
        if not kept.is_back:
            kept.put_back()
        kept.is_back = False
    try:
        with (
            limited(),
            interrupted_after(seconds),
            probed(recipe.probe, subject, make(recipe, pristine)) as (used, (args, kwargs)),
            other_weights(recipe.weights, subject.modules),
            other_mode(recipe.mode, subject.modules),
        ):
            return observe(used, recipe.label, args, kwargs, store, ear, recipe.luck)
    except TooLongError:
        return Observation(recipe.label, {}, ear.take(), Raised(TooLongError.__name__, "it did not end"))
    except Exception as error:  # the use could not be made at all: it says nothing
        return Observation(recipe.label, {}, ear.take(), Raised(TooLongError.__name__, str(error)))
    finally:
        if kept is not None:
            kept.put_back()
