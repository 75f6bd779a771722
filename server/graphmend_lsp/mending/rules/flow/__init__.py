"""The rule `flow`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="flow",
    order=130,
    tier="first choice",
    breaks=frozenset({"GB0170", "GB0033", "GB8335", "GB7000", "GB0088", "GB0207", "GB0193"}),
    what_breaks="`not t`, `any(...)`, `sorted`, `max` with a key",
    becomes="tensor operations",
)
