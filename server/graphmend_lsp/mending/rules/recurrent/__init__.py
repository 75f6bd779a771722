"""The rule `recurrent`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="recurrent",
    order=164,
    tier="second choice",
    breaks=frozenset({"GB0014"}),
    what_breaks="`nn.LSTM`, `nn.GRU`, `nn.RNN`",
    becomes="the same layer, as one operator in the graph",
)
