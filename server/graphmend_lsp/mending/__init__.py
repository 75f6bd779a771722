"""Mending: source in, text edits out. One rule a module, with its examples and its refusals; pure, no torch, no IO.

`propose` asks every rule and lets nothing through that `soundness` objects to.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from graphmend_lsp.mending.rule import Proposals, Request, Rule
from graphmend_lsp.mending.syntax import soundness
from graphmend_lsp.mending.syntax.new_names import new_names
from graphmend_lsp.model import Break, Declined, Mend

RULES = (
    "known", "where", "loop", "defer", "guard", "given", "item", "index", "mask", "bins", "rows", "listed", "flow", "copy",
    "hoist", "caller", "opaque", "cond", "while_loop", "isolate",
)  # fmt: skip
"""The rules' names, in the order in which their mends are offered; each is the module of that name in this room."""

LAST_RESORT = frozenset({"isolate"})
"""Rules that remove no break; they are asked only where no other rule has a mend that may be proven safe, or a frame is lost."""

SECOND_CHOICE = frozenset({"cond", "while_loop"})
"""Rules whose mend is offered behind every other one of the same safety, and does not keep the last resort away."""


def rules_by_name() -> dict[str, Rule]:
    """Every rule's module by its name, in order."""
    return {name: cast(Rule, importlib.import_module(f"{__name__}.rules.{name}.rule")) for name in RULES}


def propose(site: Break, sources: Mapping[str, str], rules: Sequence[str] = ()) -> Proposals:
    """What the rules (all, or those named) offer for a break, best first, and why the others do not. Never raises."""
    mends: list[Mend] = []
    declined: list[Declined] = []
    lost = site.outcome in ("frame skipped", "rest skipped")  # worth a second choice, should the first be wrong
    for name, rule in rules_by_name().items():
        may_be_safe = any(not one.cautions and one.rule not in SECOND_CHOICE for one in mends) and not lost
        if (rules and name not in rules) or (may_be_safe and not rules and name in LAST_RESORT):
            continue
        for answer in _answers(name, rule, site, sources):
            if isinstance(answer, Mend):
                mends.append(answer)
            elif answer not in declined and not (mends and name in LAST_RESORT):
                declined.append(answer)
    return Proposals(tuple(mends), tuple(declined))


def _answers(name: str, rule: Rule, site: Break, sources: Mapping[str, str]) -> list[Mend | Declined]:
    try:
        return [
            _sound(name, rule, site, sources, answer) if isinstance(answer, Mend) else answer
            for answer in rule.propose(Request(site, sources))
        ]
    except RecursionError:
        return [Declined(name, "The code around this place is nested too deeply to be rewritten.")]
    except Exception as error:  # a rule's own defect must not take the other rules' mends away
        return [Declined(name, f"The code around this place is not understood ({type(error).__name__}: {error}).")]


def _sound(name: str, rule: Rule, site: Break, sources: Mapping[str, str], mend: Mend) -> Mend | Declined:
    if problem := soundness.flaw(site, mend, sources, partial(_would_mend, rule)):
        return Declined(name, problem)
    return replace(mend, names=new_names(mend, sources))


def _would_mend(rule: Rule, site: Break, sources: Mapping[str, str]) -> bool:
    return any(isinstance(answer, Mend) for answer in rule.propose(Request(site, sources)))
