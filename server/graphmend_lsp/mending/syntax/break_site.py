"""Where a break lies in its file, and what a rule answers about it: the prologue and the epilogue that all rules share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source, Unreadable, read
from graphmend_lsp.model import Break, Declined, Mend, Span


@dataclass(frozen=True, slots=True)
class Place:
    """A request with the file of the break, what is around it there, where exactly it is shown, and the ids that it goes by."""

    request: Request
    source: Source
    site: Site
    span: Span
    gb_ids: frozenset[str]

    @property
    def node(self) -> ast.AST:
        """The operand or statement that stands at the break."""
        return self.site.node

    @property
    def function(self) -> Function | None:
        """The innermost ``def`` around the break."""
        return self.site.function


AT_EDGE = " There it costs no graph."
"""What is added to the words that a statement is at the start or the end of its function already, where `is_free`."""


def is_free(site: Break) -> bool:
    """Whether a break at the start or the end of its function costs nothing: no graph, and nothing that runs uncompiled."""
    return not site.graphs and site.outcome not in ("frame skipped", "rest skipped", "refused")


Propose = Callable[[Place], tuple[Mend | Declined, ...]]
"""A rule: the mends of a break best first, or why there is none; empty when the rule is not about such breaks.

It may raise `Refused`, which is one reason why there is none.
"""


def place_of(request: Request) -> Place | None:
    """Where a rule has to look; None when nothing of the file stands there.

    Raises:
        Refused: when no rule may edit the file.
    """
    break_ = request.site
    source = read(break_.path, request.sources.get(break_.path, ""))
    if isinstance(source, Unreadable):
        raise Refused(source.reason)
    noted = request.facts.of(break_.path, source.text.value)
    source = replace(source, noted=noted, rested={}, style=request.style_of(break_.path))
    site = source.site(break_.span)
    return None if site is None else Place(request, source, site, break_.span, break_.ids)


def calls_around(request: Request) -> Iterator[Place]:
    """The calls that lead to a break, from the innermost one outwards, as places: those in files that may be edited."""
    frames = [one for one in request.site.chain if one.kind == "code"]
    for at, frame in reversed(list(enumerate(frames))):
        if frame.path not in request.sources or (frame.path, frame.span) == (request.site.path, request.site.span):
            continue
        site = replace(request.site, path=frame.path, span=frame.span, chain=tuple(frames[: at + 1]))
        with suppress(Refused):
            place = place_of(replace(request, site=site))
            if place is not None:
                yield place


def answers_of(rule: str, propose: Propose, request: Request) -> tuple[Mend | Declined, ...]:
    """What a rule answers: a refusal is a decline with its reason."""
    try:
        place = place_of(request)
        found = () if place is None else propose(place)
    except Refused as refused:
        return (Declined(rule, str(refused)),)
    rests_on = tuple(place.source.rested) if place is not None else ()
    return tuple(
        replace(one, rule=rule, rests_on=(*one.rests_on, *rests_on))
        if isinstance(one, Mend)
        else replace(one, rule=rule)
        for one in found
    )
