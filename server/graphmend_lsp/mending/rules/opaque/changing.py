"""What compiled code may change of a module in front of an operator that runs it: the graph changes it only behind. Pure reading.

TorchDynamo puts off what code does to attributes until the graph has run, and an operator reads a module while it runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from graphmend_lsp.mending.rules.opaque.allowed import OF_OWN
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk

_MODES = frozenset(("train", "eval", "requires_grad_", "to", "half", "float", "double", "bfloat16", "apply"))


def refuse_changed(source: Source, function: Function, modules: Collection[str]) -> None:
    """Refuse modules, by their text, of which the function changes an attribute or the mode.

    Raises:
        Refused: with the statement.
    """
    for one in walk(function):
        changed = isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load)
        asked = isinstance(one, ast.Attribute) and one.attr in _MODES and isinstance(source.parents.get(one), ast.Call)
        if not isinstance(one, ast.Attribute) or not (changed or asked):
            continue
        owner = source.code(one.value)
        if any(text == owner or owner.startswith((f"{text}.", f"{text}[")) for text in modules):
            raise Refused(f"`{source.code(one)}` changes a module that the operator would run as it was before.")


def changing(source: Source, home: ast.ClassDef, method: ast.FunctionDef, sources: Mapping[str, str]) -> str:
    """An attribute of its object that a method of a module reads and that code may change, but for `__init__`; "" for none.

    So is one that the class computes when it is read (a property).
    """
    read = {
        one.attr
        for one in walk(method)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "self"
    }
    stored = {name for name, node in _stores(source) if not _makes_object(source, node, home)}
    stored |= {one.name for one in home.body if isinstance(one, ast.FunctionDef) and one.decorator_list}
    others = "\n".join(text for path, text in sources.items() if path != source.path)
    return next((one for one in sorted(read) if one in stored or _is_stored_in(others, one)), "")


def _stores(source: Source) -> Iterator[tuple[str, ast.AST]]:
    for one in source.nodes:
        if isinstance(one, ast.Attribute) and (not isinstance(one.ctx, ast.Load) or _is_filled(source, one)):
            yield one.attr, one
        elif isinstance(one, ast.Call) and getattr(one.func, "id", "") in ("setattr", "delattr") and len(one.args) > 1:
            name = one.args[1]
            yield (str(name.value) if isinstance(name, ast.Constant) else ""), one


def _is_filled(source: Source, one: ast.Attribute) -> bool:
    """Whether something is put into the container that an attribute holds, or taken out of it."""
    parent = source.parents.get(one)
    if isinstance(parent, ast.Subscript):
        return parent.value is one and not isinstance(parent.ctx, ast.Load)
    return isinstance(parent, ast.Attribute) and parent.attr in OF_OWN | {"clear", "remove"}


def _makes_object(source: Source, node: ast.AST, home: ast.ClassDef) -> bool:
    """Whether a store stands in the `__init__` of the class, or is of an object of another class of the file's own."""
    function, owner = source.function(node), source.owner(node)
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return (own and owner is not home) or (owner is home and getattr(function, "name", "") == "__init__")


def _is_stored_in(text: str, name: str) -> bool:
    changed = r"(\[[^\]]*\])?\s*(=(?!=)|[-+*/|&^@%]=|//=|\*\*=)"
    filled = rf"\.({'|'.join(sorted(OF_OWN | {'clear', 'remove'}))})\("
    return re.search(rf"\.{name}({changed}|{filled})", text) is not None
