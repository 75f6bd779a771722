"""The rule `isolate`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="isolate",
    order=200,
    tier="last resort",
    breaks=None,
    what_breaks="what no other rule mends",
    becomes="one boundary around it: fewer breaks, one stays",
)
