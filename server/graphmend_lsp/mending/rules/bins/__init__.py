"""The rule `bins`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="bins",
    order=100,
    tier="first choice",
    breaks=frozenset({"GB0036"}),
    what_breaks="`torch.bincount(t, minlength=n)`",
    becomes="a sum over a one-hot code",
)
