"""The rule `definition`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="definition",
    order=16,
    tier="first choice",
    breaks=frozenset({"GB8977", "GB0007", "GB9193"}),
    what_breaks="a class of constants and functions that is defined while the model runs",
    becomes="the same class at the top of the file",
)
