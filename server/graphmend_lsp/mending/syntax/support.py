"""What mends need besides their expression, imported from the support module in one line. Pure.

Files of projects that cannot import it (`Style.support` is None) hold it themselves; each rule knows how.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.mending.syntax.imports import add_import, binding
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Span, TextEdit


def supported(source: Source, at: ast.AST, *names: str) -> tuple[dict[str, str], list[TextEdit]] | None:
    """How a node calls these functions of the support module, and the edit that imports those that the file has not.

    None where the file cannot import the module.
    """
    module = source.style.support
    if module is None:
        return None
    spelled: dict[str, str] = {}
    missing: list[str] = []
    statements = _imports(source, module)
    known = {alias.name: alias.asname or alias.name for one in statements for alias in one.names}
    for name in names:
        if name in known and binding(source, known[name], at) == f"{module}.{name}":
            spelled[name] = known[name]
        else:
            spelled[name] = name if name not in _bound(source) else source.fresh(f"graphmend_{name}")
            missing.append(name)
    if not missing:
        return spelled, []
    new = sorted(one if spelled[one] == one else f"{one} as {spelled[one]}" for one in missing)
    if source.style.single_line:
        return spelled, _together(source, [add_import(source, f"from {module} import {one}") for one in new])
    if not statements:
        return spelled, [add_import(source, f"from {module} import {', '.join(new)}")]
    old = [ast.unparse(alias) for alias in statements[0].names]
    start, end = source.range(statements[0])
    text = f"from {module} import {', '.join(sorted({*old, *new}))}"
    return spelled, [TextEdit(source.path, source.between(start, end), text)]


def _together(source: Source, edits: Iterable[TextEdit]) -> list[TextEdit]:
    """The edits; those that add lines at one place as one."""
    found: dict[Span, TextEdit] = {}
    for one in edits:
        if one.span in found:
            before = found[one.span].text.rstrip("\r\n")
            one = replace(one, text=before + source.newline + one.text.lstrip("\r\n"))
        found[one.span] = one
    return list(found.values())


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
    for node in source.nodes:
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


def _imports(source: Source, module: str) -> list[ast.ImportFrom]:
    """The file's own imports from the support module."""
    return [
        one
        for one in source.tree.body
        if isinstance(one, ast.ImportFrom) and one.module == module and not one.level and source.starts_line(one)
    ]
