"""The static tier: likely graph breaks found in source text with `ast`. Pure: no IO, no torch, never raises.

For other rooms: `find_breaks`, and the modules `entries`, `sites`, `suppress` and `reasons`.
Nothing of LSP, of the worker or of libcst may enter.
"""

from __future__ import annotations

from graphmend_lsp.analysis.breaks import find_breaks

__all__ = ["find_breaks"]
