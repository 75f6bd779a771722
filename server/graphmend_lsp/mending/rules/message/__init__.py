"""The rule `message`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="message",
    order=37,
    breaks=None,
    what_breaks='`logger.info("shape %s", x.shape)`, `print(x.shape)`, `if x.min() < 0: print("negative")`',
    becomes="an operator of the graph that says it where it was",
    risks=frozenset(("raised-between",)),
)
