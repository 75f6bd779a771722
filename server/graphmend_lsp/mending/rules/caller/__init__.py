"""The rule `caller`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="caller",
    order=160,
    tier="first choice",
    breaks=frozenset({"GB0124", "GB0170"}),
    what_breaks="a number that an inlined function reads first, and must read",
    becomes="its caller reads it: two graphs, not four",
)
