"""Mending: source in, text edits out. One rule a folder, with its examples and its refusals; pure, no torch, no IO.

`propose` asks every rule that is about the break and lets nothing through that `soundness` objects to. The rules are the
folders of `rules/`; what each declares is read without loading its code.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import cast

from graphmend_lsp.mending import rules as rule_folders
from graphmend_lsp.mending.rule import Declaration, Example, Proposals, Refusal, Request, Style
from graphmend_lsp.mending.syntax import soundness
from graphmend_lsp.mending.syntax.break_site import Propose, answers_of
from graphmend_lsp.mending.syntax.explained import explained
from graphmend_lsp.mending.syntax.new_names import new_names
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.mending.syntax.tidy import tidied
from graphmend_lsp.model import AssumptionKind, Break, Declined, Mend, TextEdit
from graphmend_lsp.values import NOTHING, Facts


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, loaded: what it declares, its page's text, its code and its examples."""

    declaration: Declaration
    doc: str
    propose: Propose
    examples: tuple[Example, ...]
    refusals: tuple[Refusal, ...]


def _declarations() -> tuple[Declaration, ...]:
    """What each folder of `rules/` declares, in the order in which mends of equal safety are offered."""
    found = [
        cast(Declaration, importlib.import_module(f"{rule_folders.__name__}.{folder.name}").RULE)
        for folder in pkgutil.iter_modules(rule_folders.__path__)
        if folder.ispkg
    ]
    return tuple(sorted(found, key=lambda one: one.order))


DECLARATIONS = _declarations()
"""What the rules declare, in the order in which their mends are offered."""

LAST_RESORT = frozenset(one.name for one in DECLARATIONS if one.tier == "last resort")
"""Rules that remove no break."""

SECOND_CHOICE = frozenset(one.name for one in DECLARATIONS if one.tier in ("second choice", "third choice"))
"""Rules whose mend is offered behind every other mend of the same safety."""

THIRD_CHOICE = frozenset(one.name for one in DECLARATIONS if one.tier == "third choice")
"""Those whose mend is verified only where no other mend of its break is safe."""

WIDE = frozenset(one.name for one in DECLARATIONS if one.wide)
"""Rules whose mend may fail for what stands elsewhere in the program, and takes all that are verified with it along."""

RISKS: Mapping[str, frozenset[AssumptionKind]] = MappingProxyType({one.name: one.risks for one in DECLARATIONS})
"""What a run may find that a rule's mends take for granted, beside what each says itself."""


@cache
def _loaded(declaration: Declaration) -> Rule:
    module = importlib.import_module(f"{rule_folders.__name__}.{declaration.name}.rule")
    return Rule(declaration, module.__doc__ or "", module.propose, tuple(module.EXAMPLES), tuple(module.REFUSALS))


def rules_by_name() -> dict[str, Rule]:
    """Every rule by its name, in order."""
    return {one.name: _loaded(one) for one in DECLARATIONS}


def propose(
    site: Break,
    sources: Mapping[str, str],
    rules: Sequence[str] = (),
    facts: Facts = NOTHING,
    styles: Mapping[str, Style] = MappingProxyType({}),
    wrapping: Mapping[str, str] = MappingProxyType({}),
) -> Proposals:
    """What the rules (all, or those named) offer for a break, best first, and why the others do not. Never raises.

    `facts` is what a run showed of the values in `sources`, `styles` how the projects of these write code; `wrapping` are the
    texts of files that may not be edited (see `Request`).
    """
    if _is_of_another(site):
        return Proposals((), ())
    request = Request(site, sources, facts, styles, wrapping)
    mends: list[Mend] = []
    declined: list[Declined] = []
    lost = site.outcome in (
        "frame skipped",
        "rest skipped",
        "refused",
    )  # worth a second choice, should the first be wrong
    for one in DECLARATIONS:
        may_be_safe = any(not mend.cautions and mend.rule not in SECOND_CHOICE for mend in mends) and not lost
        if (rules and one.name not in rules) or (may_be_safe and not rules and one.name in LAST_RESORT):
            continue
        if not one.is_about(site):
            continue
        for answer in _answers(_loaded(one), request):
            if isinstance(answer, Mend):
                mends.append(answer)
            elif answer not in declined and not (mends and one.name in LAST_RESORT):
                declined.append(answer)
    return Proposals(tuple(mends), tuple(declined))


def _is_of_another(site: Break) -> bool:
    """Whether a break follows from what keeps the function around it uncompiled, and goes with that.

    TorchDynamo then compiles a comprehension of the function (Python up to 3.11; a generator always) as a function of its own,
    whose argument is an iterator.
    """
    function = site.chain[-1].function if site.chain else ""
    return site.gb_id == "GB4347" and function.endswith(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"))


def _answers(rule: Rule, request: Request) -> list[Mend | Declined]:
    name = rule.declaration.name
    try:
        answers = answers_of(name, rule.propose, request)
        return [_sound(rule, request, answer) if isinstance(answer, Mend) else answer for answer in answers]
    except RecursionError:
        return [Declined(name, "The code here is nested too deeply to rewrite.")]
    except Exception as error:  # a rule's own defect must not take the other rules' mends away
        return [Declined(name, f"GraphMend does not understand the code here ({type(error).__name__}: {error}).")]


def _sound(rule: Rule, request: Request, mend: Mend) -> Mend | Declined:
    sources = request.sources
    mend = replace(mend, edits=_tidied(request, mend))
    if problem := soundness.flaw(request.site, mend, sources, partial(_would_mend, rule, request.styles)):
        return Declined(rule.declaration.name, problem)
    return replace(mend, names=new_names(mend, sources))


def _tidied(request: Request, mend: Mend) -> tuple[TextEdit, ...]:
    """The edits of all files, with the lines broken that they make too long, and with what is to be explained explained."""
    found: list[TextEdit] = []
    for path in dict.fromkeys(edit.path for edit in mend.edits):
        edits = [edit for edit in mend.edits if edit.path == path]
        source = read(path, request.sources.get(path, ""))
        if isinstance(source, Source):
            styled = replace(source, style=request.style_of(path))
            edits = list(explained(styled, tidied(styled, edits)))
        found += edits
    return tuple(found)


def _would_mend(rule: Rule, styles: Mapping[str, Style], site: Break, sources: Mapping[str, str]) -> bool:
    answers = answers_of(rule.declaration.name, rule.propose, Request(site, sources, styles=styles))
    return any(isinstance(answer, Mend) for answer in answers)
