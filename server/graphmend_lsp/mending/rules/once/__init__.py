"""The rule `once`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="once",
    order=153,
    breaks=None,
    what_breaks='what a module does in its first call only: hooks, locks, caches, under `if not hasattr(self, "handle"):`',
    becomes="a function that TorchDynamo calls while it traces",
)
