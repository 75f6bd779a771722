"""The rule `hint`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="hint",
    order=17,
    tier="first choice",
    breaks=None,
    what_breaks="a hint to TorchDynamo about a tensor, in compiled code (`torch._dynamo.mark_static_address(t)`)",
    becomes="the same hint, given in uncompiled code only",
)
