"""What the names of a file are bound to (``import torch as th`` makes ``th.where`` mean torch.where), and binding more.

Pure reading of `Source`, and edits for a missing import or a module-level function. No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from graphmend_lsp.mending.syntax.edits import end_of_line
from graphmend_lsp.mending.syntax.import_block import import_edit
from graphmend_lsp.mending.syntax.source import Bound, Function, Source, assigned, local_names
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


def dotted(source: Source, node: ast.AST) -> str | None:
    """The full name of an expression such as ``F.relu`` (``torch.nn.functional.relu``); None for what is not imported.

    Names that are bound in the enclosing function by anything but an import, or rebound in the module, resolve to None.
    """
    parts: list[str] = []
    one = node
    while isinstance(one, ast.Attribute):
        parts.append(one.attr)
        one = one.value
    if not isinstance(one, ast.Name):
        return None
    origin = binding(source, one.id, node)
    return ".".join([origin, *reversed(parts)]) if origin else None


def binding(source: Source, name: str, at: ast.AST) -> str | None:
    """What module or member the import of `name` binds as seen from the node `at`; None when it is no import's name."""
    function = source.function(at)
    while function is not None:
        here = bound_in(source, function)
        if name in here.names:
            return here.imported.get(name) if name not in here.others else None
        function = source.function(function)
    top = bound_in(source, source.tree)
    return None if name in top.others else top.imported.get(name)


def bound_in(source: Source, scope: Function | ast.Module) -> Bound:
    """What a function, or the module itself, binds; found out once for each."""
    if scope not in source.bound:
        names = frozenset[str]() if isinstance(scope, ast.Module) else local_names(scope)
        source.bound[scope] = Bound(names, _imported(scope.body), _rebound(scope.body))
    return source.bound[scope]


def is_builtin(source: Source, node: ast.AST, name: str) -> bool:
    """Whether a node is the builtin `name`: that name, bound nowhere in the file that the node sees."""
    return isinstance(node, ast.Name) and node.id == name and not is_bound(source, name, node)


def is_bound(source: Source, name: str, at: ast.AST) -> bool:
    """Whether the file binds a name that a node sees."""
    function = source.function(at)
    while function is not None:
        if name in bound_in(source, function).names:
            return True
        function = source.function(function)
    return any(name in assigned(statement) for statement in source.tree.body)


def spell(source: Source, target: str, at: ast.AST) -> tuple[str, TextEdit | None]:
    """How to write a dotted target (``torch.where``) at a node, with the edit that imports its package when needed.

    An import of the module (``import torch as th``) is preferred to one of the member (``from torch import where``).
    """
    candidates: list[tuple[int, str]] = []
    functions = [one for one in source.ancestors(at) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    names: dict[str, str] = dict(_imported(source.tree.body))
    for function in reversed(functions):
        names |= _imported(function.body)
    for name, origin in names.items():
        if (target == origin or target.startswith(origin + ".")) and binding(source, name, at) == origin:
            candidates.append((target == origin, name + target[len(origin) :]))
    if candidates:
        return min(candidates)[1], None
    package = target.split(".")[0]
    if package not in source.names:
        return target, add_import(source, f"import {package}")
    name = source.fresh(f"_{package}")
    return name + target[len(package) :], add_import(source, f"import {package} as {name}")


def add_import(source: Source, line: str) -> TextEdit:
    """The edit that adds an import: where an import sorter would put it, else behind docstring and comments."""
    return import_edit(source, line) or _at_top(source, [line], blank=0)


def add_function(source: Source, lines: Sequence[str]) -> TextEdit:
    """The edit that adds a module-level definition behind the imports, set off by blank lines.

    Imports may go on behind other statements (``__all__``, ``os.environ``): it stands behind those that it needs itself.
    """
    return _at_top(source, lines, blank=2, behind=_needed(source, lines))


def add_value(source: Source, lines: Sequence[str]) -> TextEdit:
    """The edit that sets a name of the module behind the imports, set off by a blank line."""
    return _at_top(source, lines, blank=1, behind=_needed(source, lines))


def _needed(source: Source, lines: Sequence[str]) -> int:
    """The index of the last statement of the file whose import is needed to define these functions; -1 for none."""
    names: set[str] = set()
    for one in ast.parse("\n".join(lines)).body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts = (*one.decorator_list, *one.args.defaults, *filter(None, one.args.kw_defaults))
            names |= {name.id for part in parts for name in walk(part) if isinstance(name, ast.Name)}
    first: dict[str, int] = {}
    for index, statement in enumerate(source.tree.body):
        for name in _imported([statement]).keys() & names:
            first.setdefault(name, index)
    return max(first.values(), default=-1)


def _at_top(source: Source, lines: Sequence[str], blank: int, behind: int = -1) -> TextEdit:
    body = source.tree.body
    anchor: ast.stmt | None = None
    for index, statement in enumerate(body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or (index == 0 and _is_docstring(statement)):
            anchor = statement
        elif not _is_guarded_import(statement):
            break
    if behind > (-1 if anchor is None else body.index(anchor)):
        anchor = body[behind]
    if anchor is not None and blank:  # a definition also goes behind try: import ... and if TYPE_CHECKING: ...
        index = body.index(anchor) + 1
        while index < len(body) and _is_guarded_import(body[index]):
            anchor = body[index]
            index += 1
    text = source.newline.join(lines)
    if anchor is not None:
        at = end_of_line(source, source.range(anchor)[1])
        docstring_gap = 1 if _is_docstring(anchor) else 0
        gap = source.newline * (1 + max(blank, docstring_gap))
        after = source.text.value[at:]
        there = len(after) - len(after.lstrip("\r\n"))  # line ends behind the anchor
        missing = blank + 1 - there // len(source.newline)
        tail = source.newline * missing if blank and after.strip() and missing > 0 else ""
        return TextEdit(source.path, source.between(at, at), gap + text + tail)
    at = _after_header(source)
    apart = (
        2 if body and isinstance(body[0], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else min(len(body), 1)
    )
    gap = source.newline * (1 + max(blank, apart))
    return TextEdit(source.path, source.between(at, at), text + gap)


def _after_header(source: Source) -> int:
    """Behind a byte order mark, the ``#!`` line and the comment block at the top of a file without imports."""
    number = 1
    while source.text.line(number).lstrip("\ufeff").startswith("#") and number < source.text.line_count:
        number += 1
    return source.text.starts[number - 1] + (number == 1 and source.text.value.startswith("\ufeff"))


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_guarded_import(statement: ast.stmt) -> bool:
    """``try: import x`` or ``if TYPE_CHECKING: import x`` and the like, with only imports and assignments inside."""
    if not isinstance(statement, (ast.Try, ast.If)):
        return False
    inner = [one for one in walk(statement) if isinstance(one, ast.stmt) and one is not statement]
    allowed = (ast.Import, ast.ImportFrom, ast.Pass, ast.Assign, ast.If, ast.Try)
    return all(isinstance(one, allowed) for one in inner) and any(
        isinstance(one, (ast.Import, ast.ImportFrom)) for one in inner
    )


def _imported(body: Sequence[ast.stmt]) -> Mapping[str, str]:
    """Name -> full name for the imports of a block and of the ``if``, ``try`` and ``with`` blocks in it."""
    found: dict[str, str] = {}
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(statement, ast.ImportFrom):
            if statement.module and not statement.level:
                for alias in statement.names:
                    found[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
        elif isinstance(statement, ast.If) and _is_type_checking(statement.test):
            found |= _imported(statement.orelse)
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            for name in ("body", "orelse", "finalbody"):
                found |= _imported(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                found = {**_imported(handler.body), **found}
    return found


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _rebound(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that statements bind by anything but an import."""
    return frozenset(name for statement in body for name in _assigned_without_imports(statement))


def _assigned_without_imports(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return frozenset()
    if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
        inner = [one for one in ast.iter_child_nodes(statement) if isinstance(one, (ast.stmt, ast.ExceptHandler))]
        found = frozenset(
            name
            for one in inner
            for name in (
                _assigned_without_imports(one)
                if isinstance(one, ast.stmt)
                else frozenset(n for s in one.body for n in _assigned_without_imports(s))
            )
        )
        return found | frozenset(
            one.id
            for part in ast.iter_child_nodes(statement)
            if not isinstance(part, (ast.stmt, ast.ExceptHandler))
            for one in walk(part)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        )
    return assigned(statement)
