"""The rule `item`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="item",
    order=70,
    tier="first choice",
    breaks=frozenset({"GB0124", "GB0033", "GB0109"}),
    what_breaks="`.item()`, `float(t)`, `int(t)`",
    becomes="a tensor without dimensions",
)
