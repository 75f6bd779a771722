"""What functions do that a function calls: those of its file, and those that it imports from files of its package. Pure reading.

The texts of these files come with the request. Of a function that none of them defines, once and without decorators, nothing is
known.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import own_nodes
from graphmend_lsp.mending.facts.own import is_own
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.imports import is_bound
from graphmend_lsp.mending.syntax.source import Source, Unreadable, assigned, local_names, parameters, read
from graphmend_lsp.mending.syntax.walk import walk

_DEEP = 4


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The files whose functions may be read, by path."""

    sources: Mapping[str, str]

    def only_gives(self, source: Source, call: ast.Call, deep: int = _DEEP) -> bool:
        """Whether a call runs a function that gives a value or raises, and changes nothing that others can see."""
        found = self._definition(source, call.func)
        if found is None or not deep:
            return False
        file, function = found
        left = {id(one) for each in own_nodes(function) if isinstance(each, ast.Raise) for one in walk(each)}
        left |= {id(one) for each in _not_run(function, call) for one in walk(each)}
        return all(id(one) in left or self._is_quiet(file, function, one, deep - 1) for one in own_nodes(function))

    def _is_quiet(self, source: Source, function: ast.FunctionDef, node: ast.AST, deep: int) -> bool:
        if isinstance(node, ast.Import):  # torch is there: its code is what breaks
            return all(one.name.split(".")[0] == "torch" for one in node.names)
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.ImportFrom, ast.With)):
            return False
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            statement = source.statement(node)
            return statement is not None and is_own(source, node.value.id, statement)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.AugAssign):
            return getattr(node.target, "id", "") not in parameters(function)
        acts = any(one.node is node and one.kind == "effect" for one in hazards(source, node))
        return not acts or (isinstance(node, ast.Call) and self.only_gives(source, node, deep))

    def _definition(self, source: Source, called: ast.expr) -> tuple[Source, ast.FunctionDef] | None:
        if not isinstance(called, ast.Name) or not is_outer(source, called):
            return None
        file, name = source, called.id
        for _ in range(_DEEP):
            bound = only_binding(file, name)
            if isinstance(bound, ast.FunctionDef):
                return None if bound.decorator_list else (file, bound)
            origin = self.origin(file, bound, name) if isinstance(bound, ast.ImportFrom) else None
            if origin is None:
                return None
            file, name = origin
        return None

    def origin(self, source: Source, statement: ast.ImportFrom, name: str) -> tuple[Source, str] | None:
        """The file that an import takes a name from, if its text is here, and the name that it has there."""
        original = next((one.name for one in statement.names if (one.asname or one.name) == name), None)
        file = self._file(source, statement.level, statement.module or "") if original is not None else None
        return (file, original) if file is not None and original is not None else None

    def module_of(self, source: Source, name: ast.Name) -> Source | None:
        """The file of the module that a name is, if its text is here."""
        bound = only_binding(source, name.id) if is_outer(source, name) else None
        if isinstance(bound, ast.ImportFrom):
            original = next((one.name for one in bound.names if (one.asname or one.name) == name.id), "")
            path = f"{bound.module}.{original}" if bound.module else original
            return self._file(source, bound.level, path)
        if isinstance(bound, ast.Import):
            original = next((one.name for one in bound.names if (one.asname or one.name) == name.id), "")
            return self._file(source, 0, original) if original else None
        return None

    def _file(self, source: Source, level: int, module: str) -> Source | None:
        """The file of a module as a file imports it, if its text is here."""
        base = module.replace(".", "/")
        ends = (f"{base}.py", f"{base}/__init__.py") if base else ("__init__.py",)
        folder = source.path.replace("\\", "/")
        for _ in range(level):
            folder = posixpath.dirname(folder)
        for path, text in self.sources.items():
            here = path.replace("\\", "/")
            for end in ends:
                top = here.removesuffix(f"/{end}")
                inside = here == f"{folder}/{end}" if level else top != here and folder.startswith(f"{top}/")
                if inside:
                    found = read(path, text)
                    return None if isinstance(found, Unreadable) else found
        return None


def _not_run(function: ast.FunctionDef, call: ast.Call) -> list[ast.stmt]:
    """The statements that need an argument which a call leaves out: under ``if p is not None:``, of a `p` that nothing binds."""
    given = function.args.posonlyargs + function.args.args
    defaults = dict(zip(reversed(given), reversed(function.args.defaults), strict=False))
    left = given[len(call.args) :] if not any(isinstance(one, ast.Starred) for one in call.args) else []
    named = {one.arg for one in call.keywords}
    none = {
        one.arg
        for one in left
        if one.arg not in named and None not in named and ast.unparse(defaults.get(one, function)) == "None"
    }
    none -= {name for statement in function.body for name in assigned(statement)}
    tests = {f"{name} is not None" for name in none}
    found = [one for one in own_nodes(function) if isinstance(one, ast.If) and ast.unparse(one.test) in tests]
    return [statement for one in found for statement in one.body]


def only_binding(source: Source, name: str) -> ast.stmt | None:
    """The one statement at the top of a file that binds a name; None where anything else may bind it."""
    bound = [one for one in source.tree.body if name in assigned(one)]
    changed = any(isinstance(one, ast.Global) and name in one.names for one in source.nodes)
    return bound[0] if len(bound) == 1 and not changed else None


def is_outer(source: Source, name: ast.Name) -> bool:
    """Whether a name is the module's, not one that a function around it binds."""
    function = source.function(name)
    while function is not None:
        if name.id in local_names(function):
            return False
        function = source.function(function)
    return is_bound(source, name.id, name)
