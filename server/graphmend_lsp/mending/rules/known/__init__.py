"""The rule `known`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="known",
    order=10,
    tier="first choice",
    breaks=frozenset({"GB0170", "GB0124", "GB0109", "GB0033", "GB0036", "GB7000", "GB0207"}),
    what_breaks="sizes read back from a tensor that was made of them",
    becomes="the Python numbers",
)
