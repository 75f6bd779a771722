"""The rule `loop`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="loop",
    order=30,
    tier="first choice",
    breaks=frozenset({"GB0170", "GB0124", "GB0033", "GB0036", "GB8335", "GB7000"}),
    branching=True,
    what_breaks="a loop that ends when a tensor says so",
    becomes="all iterations, under a mask",
)
