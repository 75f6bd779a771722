"""The rule `cond`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="cond",
    order=180,
    tier="second choice",
    breaks=frozenset({"GB0170", "GB0124", "GB0033", "GB0036", "GB8335", "GB7000", "GB0066"}),
    branching=True,
    what_breaks="the same, where a side is heavy or must not run",
    becomes="when compiled, the side that is taken, by `torch.cond`",
)
