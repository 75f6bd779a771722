"""The rule `twice`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="twice",
    order=145,
    breaks=frozenset({"GB6297"}),
    what_breaks="a tensor that an autograd function takes twice: `Attend.apply(mask, mask, x)`",
    becomes="a view of it the second time: `Attend.apply(mask, mask.view_as(mask), x)`",
)
