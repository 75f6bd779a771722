"""A lock that a function makes for itself: no other code can hold it, so that entering it waits for nobody.

Its place is taken by ``contextlib.nullcontext()``, which Dynamo enters without a break. Pure reading of `Source`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

_LOCKS = ("threading.Lock", "threading.RLock")


def unlocked(source: Source, function: Function, call: ast.Call) -> list[TextEdit] | None:
    """The edits that make a lock an empty context; None when the call makes no lock.

    Raises:
        Refused: when something else may hold the lock, or ask about it.
    """
    if dotted(source, call.func) not in _LOCKS or call.args or call.keywords:
        return None
    text = render(source, call)
    parent = source.parents[call]
    if not isinstance(parent, ast.withitem):
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        if not isinstance(target, ast.Name):
            raise Refused(f"`{text}` leaves the function, so another thread may hold it.")
        for one in walk(function):
            if isinstance(one, ast.Name) and one.id == target.id and one is not target:
                _entered(source, function, one)
            elif isinstance(one, (ast.Global, ast.Nonlocal)) and target.id in one.names:
                raise Refused(f"`{target.id}` is no local name, so another thread may hold it.")
    elif parent.optional_vars is not None:
        raise Refused(f"The value that entering `{text}` gives is used.")
    name, added = spell(source, "contextlib.nullcontext", call)
    return [*([added] if added else []), edits.rewrite(source, call, f"{name}()")]


def _entered(source: Source, function: Function, name: ast.Name) -> None:
    """Whether a name is entered by a ``with`` of the function itself.

    Raises:
        Refused: when it is used otherwise.
    """
    item = source.parents[name]
    if not isinstance(item, ast.withitem) or item.optional_vars is not None or source.function(name) is not function:
        raise Refused(f"`{name.id}` is used for more than `with {name.id}:`, so another thread may hold it.")
