"""Methods that do not read their object, which an operator may call: it takes no object, but knows its class. Pure reading."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk


def own_method(source: Source, called: ast.expr) -> ast.FunctionDef | None:
    """The method of the class around that ``self.name`` is and that reads no object: static, or plain.

    Another class may override it: the operator asks for that when it runs.
    """
    if not (isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "self"):
        return None
    home = source.owner(called)
    named = [one for one in home.body if getattr(one, "name", "") == called.attr] if home is not None else []
    made = named[0] if len(named) == 1 else None
    if (
        home is None
        or home not in source.tree.body
        or not isinstance(made, ast.FunctionDef)
        or _is_stored(home, called.attr)
    ):
        return None
    if made.decorator_list:
        return made if [is_builtin(source, one, "staticmethod") for one in made.decorator_list] == [True] else None
    return made if _needs_no_object(made) else None


def _is_stored(home: ast.ClassDef, name: str) -> bool:
    """Whether a class gives the name another value, its own or its objects'."""
    return any(
        isinstance(one, (ast.Name, ast.Attribute))
        and name in (getattr(one, "id", ""), getattr(one, "attr", ""))
        and not isinstance(one.ctx, ast.Load)
        for one in walk(home)
    )


def _needs_no_object(made: ast.FunctionDef) -> bool:
    given = (*made.args.posonlyargs, *made.args.args)
    names = {one.id for part in made.body for one in walk(part) if isinstance(one, ast.Name)}
    return bool(given) and not names & {given[0].arg, "super", "__class__", "locals", "vars"}
