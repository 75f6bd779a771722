"""The rule `capture`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="capture",
    order=165,
    tier="second choice",
    breaks=frozenset({"GB0124", "GB0036", "GB0033", "GB0014", "GB9186", "GB0123"}),
    what_breaks="a number or a size that depends on data and must be read; an RNN; `torch.autograd.grad`",
    becomes="TorchDynamo's setting that captures it, for the outermost function",
    wide=True,
)
