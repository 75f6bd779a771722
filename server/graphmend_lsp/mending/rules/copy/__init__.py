"""The rule `copy`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="copy",
    order=140,
    tier="first choice",
    breaks=None,
    what_breaks="`copy.deepcopy(t)`",
    becomes="`t.detach().clone()`",
)
