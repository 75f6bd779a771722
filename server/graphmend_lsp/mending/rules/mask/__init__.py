"""The rule `mask`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="mask",
    order=90,
    tier="first choice",
    breaks=frozenset({"GB0036"}),
    what_breaks="`x[m].sum()`, `y[m] += v`, `nonzero`",
    becomes="all elements, the mask decides",
)
