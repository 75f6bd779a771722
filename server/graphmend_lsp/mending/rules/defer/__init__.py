"""The rule `defer`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="defer",
    order=40,
    tier="first choice",
    breaks=None,
    what_breaks="`print`, logger calls, warnings",
    becomes="the same text, after the graph",
)
