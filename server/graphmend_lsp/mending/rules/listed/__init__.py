"""The rule `listed`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="listed",
    order=120,
    tier="first choice",
    breaks=frozenset({"GB0036"}),
    what_breaks="a list of rows that another function uses",
    becomes="all rows, the sign of a number says which are chosen",
)
