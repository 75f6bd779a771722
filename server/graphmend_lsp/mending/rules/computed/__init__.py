"""The rule `computed`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="computed",
    order=163,
    tier="second choice",
    breaks=frozenset({"GB0124", "GB0033", "GB0109"}),
    what_breaks="a number that Python computes from a tensor: `math.sqrt(x.sum())`, `sum(x.tolist())`, `weights[int(x[0])]`",
    becomes="one operator of the graph that computes it in Python, captured",
)
