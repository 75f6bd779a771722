"""The rule `aside`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="aside",
    order=22,
    breaks=frozenset({"GB0170"}),
    branching=True,
    what_breaks='an `if` on a tensor with a message beside what it computes: `logger.warning("NaN")`, `x = x.nan_to_num()`',
    becomes="the message in the graph, both sides chosen by `torch.where`",
    risks=frozenset(("raised-between",)),
)
