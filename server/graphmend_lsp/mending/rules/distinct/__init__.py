"""The rule `distinct`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="distinct",
    order=85,
    tier="first choice",
    breaks=frozenset({"GB0036"}),
    what_breaks="`torch.unique(t)` of which only `any`, `all`, the largest or the smallest is asked",
    becomes="the same question of all elements",
)
