"""The rule `opaque`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="opaque",
    order=170,
    tier="first choice",
    breaks=frozenset({"GB0036", "GB0124", "GB0170", "GB0033", "GB0109", "GB7000"}),
    what_breaks="a loop that fills tensors as data says",
    becomes="one operator in the graph, uncompiled",
)
