"""The rule `hoist`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="hoist",
    order=150,
    tier="first choice",
    breaks=None,
    what_breaks="`random.random()`, `torch.manual_seed(0)` in the middle",
    becomes="at the start, where it cuts nothing",
)
