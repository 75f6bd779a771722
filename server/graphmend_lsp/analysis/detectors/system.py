"""The world outside the program: files, processes, the garbage collector, the debugger (GB0059, GB0007).

Does not break: `os.environ`, `pathlib` arithmetic, `sys.modules`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.analysis.detectors.detector import Hit, On, View

ON: On = "call"

_BUILTINS = frozenset({"builtins.open", "builtins.exec", "builtins.breakpoint", "builtins.input"})
_SKIPPED = frozenset({"os.path.exists", "gc.collect", "subprocess.run", "threading.Lock"})


def find(node: ast.expr, view: View) -> Hit | None:
    """A call that leaves the program."""
    assert isinstance(node, ast.Call)
    name = view.dotted(node.func)
    if name in _BUILTINS:
        return Hit(node, "GB0059", "Failed to trace builtin operator")
    return Hit(node, "GB0007", "Attempted to call function marked as skipped") if name in _SKIPPED else None
