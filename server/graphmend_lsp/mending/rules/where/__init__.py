"""The rule `where`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="where",
    order=20,
    tier="first choice",
    breaks=frozenset({"GB0170", "GB0124", "GB0033", "GB0036", "GB8335", "GB7000", "GB0066"}),
    branching=True,
    what_breaks="`if` on a tensor",
    becomes="both sides, chosen by `torch.where`",
)
