"""What the where rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES: tuple[Example, ...] = ()
REFUSALS: tuple[Refusal, ...] = ()
