"""The rule `index`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="index",
    order=80,
    tier="first choice",
    breaks=frozenset({"GB0124", "GB0033", "GB0070"}),
    what_breaks="`x[int(i)]`, `x[x.argmax()]`",
    becomes="an index that is a tensor",
)
