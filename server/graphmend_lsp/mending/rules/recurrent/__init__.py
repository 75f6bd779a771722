"""The rule `recurrent`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="recurrent",
    order=164,
    tier="second choice",
    breaks=frozenset({"GB0014", "GB0007"}),
    what_breaks="`nn.LSTM`, `nn.GRU`, `nn.RNN`, also between `pack_padded_sequence` and `pad_packed_sequence`",
    becomes="the same layer, as one operator in the graph",
)
