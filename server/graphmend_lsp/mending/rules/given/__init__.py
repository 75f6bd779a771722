"""The rule `given`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="given",
    order=60,
    tier="first choice",
    breaks=frozenset({"GB0170"}),
    what_breaks="a condition on data that needs an argument",
    becomes="a test of the argument before it",
)
