"""TorchDynamo's own settings, for one function: it captures numbers and sizes that depend on data where it may.

What it does
------------
A small decorator goes on the outermost compiled function, above its other decorators. It sets, while that function runs, the
settings that TorchDynamo needs to trace what the break is about: ``capture_scalar_outputs`` and
``capture_dynamic_output_shape_ops`` for numbers read from tensors (``.item()``, ``int(t)``, ``t.tolist()``, a size given as a
tensor) and for results whose size depends on data (``torch.nonzero``, ``x[mask]``, ``torch.unique``),
``allow_rnn`` for `torch.nn.LSTM` and its like, ``trace_autograd_ops`` for `torch.autograd.grad` and ``backward()``.

Why it costs
------------
Each of these ends the graph by default, though most programs run in one graph with the setting. The device is still waited
for where Python or a size needs the number: a rule that removes the read is better, and stands before this one.

Safety
------
The decorator runs uncompiled, makes the setting and calls the function. Whether that changes anything is not read from the
source: the verdict needs runs under eager, aot_eager and inductor, with all values and sizes that the original takes, empty ones
among them. A setting that makes an error of what was a break, for any of these, is not offered.

Measured with torch 2.13, breaks and graphs of one call of a function that has 1 and 2 without the setting:

* ``@torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True)``: 1 and 1, because the graph in which it is traced was begun
  without the setting; torch takes none of the other settings there.
* ``@torch._dynamo.config.patch(...)`` on the function: 1 (a frame is skipped) and 1, an error under ``fullgraph=True``.
* The same with ``@torch.compiler.disable(recursive=False)`` above it: 0 and 1 on the ``forward`` of a module, also under
  ``fullgraph=True``; on a function that is given to `torch.compile` as without it.
* The decorator that this rule writes, also around what `torch.compile` gave: 0 and 1, on functions and modules, also under
  ``fullgraph=True``.

On an inlined function each of them breaks the graph itself. The decorator takes 30 microseconds a call, and uses nothing
that torch 2.8 to 2.13 do not all have.

When it is refused
------------------
When the break was not met in a run; when the outermost function is not a ``def`` of a file that is mended, is a coroutine or a
generator, or has a decorator that gives no function (`property`, `lru_cache`); when it has the setting already; and when the
file is made for TorchScript (`torch.jit.script`). When a number from data is divided by, is an exponent, is shifted or goes to a
function of `math`: Python raises for some values, where a graph gives infinity or NaN, or ends the process (``7 % n`` with
inductor, where ``n`` is 0).
The mend names a product of two of them, because a graph computes with 64 bits, and ``int(t)`` of what may be NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from graphmend_lsp.mending.lowering.passed import cautions_of
from graphmend_lsp.mending.lowering.settings import (
    AUTOGRAD,
    DATA,
    RNN,
    WAITS,
    WORDS,
    decorated,
    has_settings,
    reaches,
    refuse_undecorated,
)
from graphmend_lsp.mending.rules.capture import RULE
from graphmend_lsp.mending.rules.capture.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.outermost import Outermost, below_wrappers
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "GB0124": DATA, "GB0036": DATA, "GB0033": DATA, "GB0014": RNN, "GB9186": AUTOGRAD, "GB0123": AUTOGRAD,
}  # fmt: skip
_TOLD: Mapping[tuple[str, ...], str] = {
    DATA: WAITS,
    RNN: "torch calls `allow_rnn` experimental.",
    AUTOGRAD: "The gradient is computed inside the graph.",
}


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The settings of the outermost function; empty where the break is in no function."""
    settings = next((_SETTINGS[one] for one in _SETTINGS if one in place.gb_ids), None)
    if settings is None or place.function is None:
        return ()
    if place.request.site.evidence == "static":
        raise Refused("Which function TorchDynamo compiles is known when the program is run.")
    _refuse_moved(place)
    _refuse_loop(place)
    below = below_wrappers(place.request, place.source, place.function)
    if isinstance(below, str):
        raise Refused(below)
    found = below.found
    if has_settings(found, settings):
        raise Refused(f"`{found.function.name}` has the setting already.")
    refuse_undecorated(found)
    mend = _mend(place, found, settings)
    if settings is DATA:
        mend = replace(mend, cautions=cautions_of(place, found, frozenset((place.node,))))
    return (mend,)


def _mend(place: Place, found: Outermost, settings: tuple[str, ...]) -> Mend:
    return Mend(
        rule=RULE.name,
        title=f"Capture {WORDS[settings]} in `{found.function.name}`",
        path=found.source.path,
        span=place.request.site.span,
        edits=tuple(decorated(found, settings)),
        changes=(_TOLD[settings], reaches(found.function.name)),
        inductor=True,
    )


def _refuse_loop(place: Place) -> None:
    """Refuse a number that decides how often a loop runs: TorchDynamo traces no such loop, with any setting."""
    tests = [one.test for one in place.source.ancestors(place.node) if isinstance(one, ast.While)]
    if any(place.node is one or place.node in walk(one) for one in tests):
        raise Refused("The number decides how often a loop runs, and TorchDynamo traces no such loop.")


def _refuse_moved(place: Place) -> None:
    """Refuse a break whose frames stand in an older text."""
    chain = place.request.site.chain
    own = [one for one in chain[-1:] if one.kind == "code" and one.path == place.source.path]
    if any(one.span.start.line != place.request.site.span.start.line for one in own):
        raise Refused("The text was changed since the break was met.")
