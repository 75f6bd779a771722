"""The rule `opaque`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="opaque",
    order=195,
    tier="third choice",
    breaks=None,
    what_breaks="what takes tensors and gives tensors of known shapes: a loop as data says, a library's function",
    becomes="one operator in the graph, uncompiled",
)
