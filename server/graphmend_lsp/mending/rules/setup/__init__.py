"""The rule `setup`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="setup",
    order=152,
    breaks=None,
    what_breaks="a method that sets up buffers in the first call: `if self.ready: return`",
    becomes="one operator of the graph that changes these buffers",
)
