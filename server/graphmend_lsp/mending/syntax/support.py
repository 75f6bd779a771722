"""What mends need besides their expression, imported from the support module in one line. Pure.

Files of projects that cannot import it (`Style.support` is None) hold it themselves; each rule knows how.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.mending.syntax.imports import add_import, binding
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit


def supported(source: Source, at: ast.AST, *names: str) -> tuple[dict[str, str], list[TextEdit]] | None:
    """How a node calls these functions of the support module, and the edit that imports those that the file has not.

    None where the file cannot import the module.
    """
    module = source.style.support
    if module is None:
        return None
    spelled: dict[str, str] = {}
    missing: list[str] = []
    statement = _import(source, module)
    known = {alias.name: alias.asname or alias.name for alias in statement.names} if statement is not None else {}
    for name in names:
        if name in known and binding(source, known[name], at) == f"{module}.{name}":
            spelled[name] = known[name]
        else:
            spelled[name] = name if name not in _bound(source) else source.fresh(f"graphmend_{name}")
            missing.append(name)
    if not missing:
        return spelled, []
    new = [one if spelled[one] == one else f"{one} as {spelled[one]}" for one in missing]
    if statement is None:
        return spelled, [add_import(source, f"from {module} import {', '.join(sorted(new))}")]
    old = [ast.unparse(alias) for alias in statement.names]
    start, end = source.range(statement)
    text = f"from {module} import {', '.join(sorted({*old, *new}))}"
    return spelled, [TextEdit(source.path, source.between(start, end), text)]


def is_supported(source: Source, node: ast.AST, name: str) -> bool:
    """Whether an expression is that function of the support module."""
    if not isinstance(node, ast.Name):
        return False
    found = binding(source, node.id, node)
    return found is not None and found.endswith(f"{SUPPORT}.{name}")


def is_alias(node: ast.alias) -> bool:
    """Whether an imported name is one of the support module's that a file uses already; it is the same in every mend."""
    return node.asname == f"graphmend_{node.name}"


def _bound(source: Source) -> frozenset[str]:
    """Every name that the file uses or binds as a name; attributes, keywords and methods are none."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        elif not isinstance(source.parents.get(node), ast.ClassDef):
            found.update(name for name in [getattr(node, "name", None)] if isinstance(name, str))
    return frozenset(found)


def _import(source: Source, module: str) -> ast.ImportFrom | None:
    """The file's own import from the support module."""
    for one in source.tree.body:
        if isinstance(one, ast.ImportFrom) and one.module == module and not one.level and source.starts_line(one):
            return one
    return None
