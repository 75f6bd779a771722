"""The rule `guard`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="guard",
    order=50,
    tier="first choice",
    breaks=None,
    what_breaks="a check that raises, `assert`",
    becomes="a check in the graph, or at the end",
)
