"""Which probes are made compiled, too: those whose difference only compiling shows, by what a mend brings into the text.

Catches ``torch.cond`` and ``while_loop`` over modules with hooks, dropout or another layout; a check in the graph that is
raised outside of the program's own ``try``; a message that the graph it waits for takes with it; a warning that becomes an
error while torch compiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..places import SUPPORT
from . import dynamic, hooks, layouts, raising, settings, warned

if TYPE_CHECKING:
    from ..recipes import Recipe

Way = Literal["eager", "aot_eager"]
MOST = 4  # calls of one kind; each is compiled anew


@dataclass(frozen=True)
class Use:
    """Probes made compiled `way` where a mend adds one of `added`; `values`: the floats of the call ("" all)."""

    added: tuple[str, ...]
    way: Way
    probes: tuple[str, ...]
    floats: str = ""
    beside: str = ""  # what the text has to have, too
    most: int = MOST


_REGIONS = ("cond(", "while_loop(", "scan(")
_LOOPS = ("range(", "for ", ".shape", ".size(", "stack(", "unbind(", "arange(", "len(", "captures(")
_CHECKS = ("custom_op(", "_assert_async(", "torch._check", "check(")
USES = (
    Use(_REGIONS, "eager", (hooks.HOOKED,)),
    Use(_REGIONS, "eager", (settings.DROPPING,)),
    Use(_REGIONS, "aot_eager", (layouts.CHANNELS_LAST,)),
    Use(_CHECKS, "eager", (settings.FLAGS_LEFT_OUT,), "one NaN", "except"),
    Use(("runs_deferred",), "eager", (raising.OUT_OF_RANGE,)),
    Use(("warn(",), "eager", (warned.AS_ERRORS,)),
    Use(_LOOPS, "eager", (dynamic.MARKED,), most=1),
)


def compiled_uses(texts: Sequence[tuple[str, str]], probes: Sequence[Recipe]) -> dict[Way, tuple[Recipe, ...]]:
    """The probes, of those that a plan has, to be made compiled; `texts` are the changed files, before and after."""
    found: dict[Way, tuple[Recipe, ...]] = {}
    texts = [(old, new) for old, new in texts if SUPPORT not in new]
    for use in USES:
        if not any(_adds(old, new, use) for old, new in texts):
            continue
        fit = [one for one in probes if one.probe in use.probes and (not use.floats or one.floats == use.floats)]
        found[use.way] = tuple(dict.fromkeys((*found.get(use.way, ()), *fit[: use.most])))
    return {way: recipes for way, recipes in found.items() if recipes}


def _adds(old: str, new: str, use: Use) -> bool:
    return use.beside in new and any(_lines(new, word) != _lines(old, word) for word in use.added)


def _lines(text: str, word: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if word in line]
