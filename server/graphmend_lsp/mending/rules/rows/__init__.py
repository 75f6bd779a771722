"""The rule `rows`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="rows",
    order=110,
    tier="first choice",
    breaks=frozenset({"GB0036", "GB0170"}),
    what_breaks="rows that a mask chooses, through a function",
    becomes="all rows, the mask decides",
)
