"""``graphmend-lsp``: the language server with ``--stdio``, the command line otherwise. Imports each only when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for and return the exit code (0: no breaks, 1: breaks remain, 2: error)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] == "--stdio":
        from graphmend_lsp.lsp.server import serve_stdio

        return serve_stdio()
    from graphmend_lsp.cli import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
