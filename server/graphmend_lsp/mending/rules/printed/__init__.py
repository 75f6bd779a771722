"""The rule `printed`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="printed",
    order=35,
    breaks=frozenset({"GB0059"}),
    what_breaks='`print("halfway")`, `print(f"mean {x.mean().item():.3f}")`: constants and numbers of tensors',
    becomes="a print in the graph, where it was",
    risks=frozenset(("raised-between",)),
)
