"""What a mending rule is: what it declares, what it is asked, what it answers, and the examples that are its tests and its page.

A rule is a folder of `rules/`. Its ``__init__`` holds `RULE`, a `Declaration`; its module ``rule`` holds `propose`, `EXAMPLES`
and `REFUSALS`, and a docstring with the sections *What it does*, *Why it costs*, *Safety* and *When it is refused*; the user
guide prints that text and the examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.model import AssumptionKind, Break, Declined, Mend
from graphmend_lsp.values import NOTHING, Facts

Tier = Literal["first choice", "second choice", "third choice", "last resort"]
"""When a mend is offered.

A *second choice* stands behind every first choice of the same safety and does not keep the last resort away. So does a *third
choice*, which is verified, and offered, only where no other mend of its break is safe. A *last resort* removes no break; it is
asked only where no other rule has a mend that may be verified safe, or where a frame is lost.
"""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the registry knows of a rule before its code is loaded.

    `order` is where its mends stand among those of equal safety, least first. `breaks` are the ids of the graph breaks that it
    is about, None for a rule that looks at each; `branching` adds every break that Dynamo calls data-dependent branching.
    `what_breaks` and `becomes` are Markdown for the guide's table. `risks` are the kinds of assumptions that only the graphs of
    a run show, which no mend of the rule can name itself. `wide`: a mend changes how everything is compiled that the outermost
    function calls.
    """

    name: str
    order: int
    what_breaks: str
    becomes: str
    breaks: frozenset[str] | None
    tier: Tier = "first choice"
    branching: bool = False
    risks: frozenset[AssumptionKind] = frozenset()
    wide: bool = False

    def is_about(self, site: Break) -> bool:
        """Whether the rule is asked about a break."""
        if self.breaks is None or not self.breaks.isdisjoint(site.ids or {site.gb_type}):
            return True
        return self.branching and "branching" in site.gb_type.lower()


SUPPORT = "graphmend_support"
"""The module that mended files import what they need besides from."""
OVERLAY = "graphmend_overlay"
"""The package that mended copies of installed modules lie in."""


@dataclass(frozen=True, slots=True)
class Style:
    """What is known of the project that a file belongs to.

    `support` is the name under which the file can import the support module; None where mends must hold all they need
    themselves. `first_party` are the top names of modules that the project's import sorter takes for the project's own.
    `line_length` is how long lines may be; None where nothing says so. `single_line` and `mixed` are how its import sorter
    writes imports: a statement for each name; ``import`` and ``from`` sorted together. `comments` says whether a mend that is not
    plain gets a comment line.
    """

    support: str | None = SUPPORT
    first_party: frozenset[str] = frozenset((SUPPORT,))
    line_length: int | None = None
    single_line: bool = False
    mixed: bool = False
    comments: bool = True


DEFAULT_STYLE = Style()


@dataclass(frozen=True, slots=True)
class Request:
    """One break to mend, with everything a rule may know.

    `site` is the break; its `path`/`span` are where to mend, its `chain` how the program came there (outermost first; the
    first frame whose kind is ``code`` is the outermost compiled function when `evidence` is ``dynamo``).
    `sources` holds the current text of the editable files that a rule may need: the site's, those of the chain, and what the
    site's file imports of its own package; a rule edits no other file.
    `facts` is what a run showed of the values in those texts; ask through `mending.facts.seen`. It may know nothing.
    `styles` are how the projects of those files write code, by path.
    `wrapping` holds the text of files that may not be edited, and whose functions stand in the chain in front of the first
    editable one: a decorator's wrapper, mostly.
    """

    site: Break
    sources: Mapping[str, str]
    facts: Facts = NOTHING
    styles: Mapping[str, Style] = field(default_factory=dict)
    wrapping: Mapping[str, str] = field(default_factory=dict)

    def style_of(self, path: str) -> Style:
        """How the project of a file writes code."""
        return self.styles.get(path, DEFAULT_STYLE)


@dataclass(frozen=True, slots=True)
class Example:
    """A program before and after, as the user sees it; both parse, and `before` mends to exactly `after`.

    The break is at the text between ``⟦`` and ``⟧`` in `before` (the marks are removed). `inlined` says that the function
    with the break is called by another compiled function, `outermost`, named here. `run` is Python that binds
    `fn` and `calls` (a list of argument tuples) with which before and after are compared; None where a run says nothing.
    `assumes` are the kinds of what the best mend takes for granted, in order.
    `seen` is what a run showed: expressions, each with a dtype and sizes (``float32 4``), the kind of a Python value, or
    ``module`` and its class.
    """

    title: str
    before: str
    after: str
    run: str | None = None
    outermost: str | None = None
    gb_id: str = "GB0170"
    assumes: tuple[AssumptionKind, ...] = ()
    seen: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A program that the rule declines, and a part of the reason it must give. Marks and `seen` as in `Example`."""

    title: str
    source: str
    reason: str
    outermost: str | None = None
    gb_id: str = "GB0170"
    seen: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Proposals:
    """What all rules together say to one break."""

    mends: tuple[Mend, ...] = ()
    declined: tuple[Declined, ...] = field(default=())
