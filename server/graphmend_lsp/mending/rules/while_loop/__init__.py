"""The rule `while_loop`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="while_loop",
    order=190,
    tier="second choice",
    breaks=frozenset({"GB0170", "GB0124", "GB0033", "GB0036", "GB8335", "GB7000", "GB0066"}),
    branching=True,
    what_breaks="a `while` that only data ends, without gradients",
    becomes="when compiled, the same iterations, by `torch.while_loop`",
)
