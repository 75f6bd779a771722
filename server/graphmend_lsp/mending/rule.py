"""What a mending rule is: what it is given, what it gives back, and the examples that are its tests and its manual.

A rule is a module of this room with `NAME` (a short noun), `propose`, `EXAMPLES` and `REFUSALS`, and a docstring with the
sections *What it does*, *Why it costs*, *Safety* and *When it is refused*; the user guide prints that text and the examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from graphmend_lsp.model import Break, Declined, Mend


@dataclass(frozen=True, slots=True)
class Request:
    """One break to mend, with everything a rule may know.

    `site` is the break; its `path`/`span` are where to mend, its `chain` how the program came there (outermost first; the
    first frame whose kind is ``code`` is the outermost compiled function when `evidence` is ``dynamo``).
    `sources` holds the current text of every editable file, at least the site's; a rule edits no other file.
    """

    site: Break
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Example:
    """A program before and after, as the user sees it; both parse, and `before` mends to exactly `after`.

    The break is at the text between ``⟦`` and ``⟧`` in `before` (the marks are removed). `inlined` says that the function
    with the break is called by another compiled function, `outermost`, named here. `run` is Python that binds
    `fn` and `calls` (a list of argument tuples) with which before and after are compared; None where a run says nothing.
    """

    title: str
    before: str
    after: str
    run: str | None = None
    outermost: str | None = None
    gb_id: str = "GB0170"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A program that the rule declines, and a part of the reason it must give. Marks as in `Example`."""

    title: str
    source: str
    reason: str
    outermost: str | None = None
    gb_id: str = "GB0170"


class Rule(Protocol):
    """A rule's module."""

    NAME: str
    EXAMPLES: tuple[Example, ...]
    REFUSALS: tuple[Refusal, ...]

    def propose(self, request: Request) -> tuple[Mend | Declined, ...]:
        """The mends of this break best first, or why there is none; empty when the rule is not about such breaks."""
        ...


@dataclass(frozen=True, slots=True)
class Proposals:
    """What all rules together say to one break."""

    mends: tuple[Mend, ...] = ()
    declined: tuple[Declined, ...] = field(default=())
