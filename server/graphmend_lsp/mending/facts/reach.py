"""Which functions of a file may lead to a function of it, by the text, and where such a call stands in a ``try``.

What a name, a method or an attribute of ``self`` may call is judged widely: a submodule that was not made here by name may be
any module of the file. Pure reading; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from graphmend_lsp.mending.syntax.imports import binding, dotted
from graphmend_lsp.mending.syntax.source import Function, Source

_RUN = ("forward", "__call__")


def caught_at(source: Source, function: Function) -> int | None:
    """The line of the first call of the file that may lead to `function` and whose exceptions a handler there may catch."""
    leading = leading_to(source, function)
    calls = [one for one in ast.walk(source.tree) if isinstance(one, ast.Call) and _may_call(source, one, leading)]
    lines = [source.span(one).start.line for one in calls if _is_handled(source, one)]
    return min(lines, default=None)


def called_within(source: Source, function: Function, words: tuple[str, ...]) -> int | None:
    """The line of the first call of the file that may lead to `function` from inside a ``with`` whose text has one of `words`."""
    leading = leading_to(source, function)
    for block in (one for one in ast.walk(source.tree) if isinstance(one, ast.With)):
        if not any(word in source.code(item.context_expr) for item in block.items for word in words):
            continue
        for call in (one for part in block.body for one in ast.walk(part) if isinstance(one, ast.Call)):
            if _may_call(source, call, leading):
                return source.span(call).start.line
    return None


def leading_to(source: Source, function: Function) -> frozenset[Function]:
    """The functions of the file that may call `function`, through others too, and itself."""
    calls = [(source.function(one), one) for one in ast.walk(source.tree) if isinstance(one, ast.Call)]
    found: frozenset[Function] = frozenset({function})
    while True:
        more = frozenset(
            home for home, call in calls if home is not None and home not in found and _may_call(source, call, found)
        )
        if not more:
            return found
        found |= more


def _is_handled(source: Source, call: ast.Call) -> bool:
    child: ast.AST = call
    for one in source.ancestors(call):
        if isinstance(one, ast.Try) and one.handlers and child in one.body:
            return True
        if isinstance(one, ast.With) and child in one.body and any("suppress" in ast.dump(item) for item in one.items):
            return True
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        child = one
    return False


def _may_call(source: Source, call: ast.Call, functions: frozenset[Function]) -> bool:
    return any(_may_be(source, call, one) for one in functions)


def _may_be(source: Source, call: ast.Call, function: Function) -> bool:
    """Whether a call may run a function of the file."""
    called, home = call.func, source.parents.get(function)
    if isinstance(home, ast.ClassDef):
        return _may_be_method(source, called, function, home)
    return isinstance(called, ast.Name) and called.id == function.name


def _may_be_method(source: Source, called: ast.expr, function: Function, home: ast.ClassDef) -> bool:
    runs = function.name in _RUN
    if isinstance(called, ast.Name):
        known = binding(source, called.id, called) is not None or dotted(source, called) is not None
        defined = any(getattr(one, "name", "") == called.id for one in source.tree.body)
        return runs and not known and not defined and source.function(called) is not None and not _is_builtin(called)
    if not isinstance(called, ast.Attribute) or dotted(source, called) is not None:
        return runs and not isinstance(called, ast.Attribute)
    if called.attr == function.name:
        return True
    if not runs:
        return False
    owner = source.owner(called)
    if not (isinstance(called.value, ast.Name) and called.value.id == "self") or owner is None:
        return False
    if any(getattr(one, "name", "") == called.attr for one in owner.body):
        return False
    made = list(_made(owner, called.attr))
    return not made or any(_may_make(source, one, home) for one in made)


def _made(owner: ast.ClassDef, attribute: str) -> Iterator[ast.expr]:
    """What a class stores in an attribute of its own."""
    for one in ast.walk(owner):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        value = one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None
        if value is not None and any(isinstance(t, ast.Attribute) and t.attr == attribute for t in targets):
            yield value


def _may_make(source: Source, value: ast.expr, home: ast.ClassDef) -> bool:
    """Whether a value may be, or hold, a module of a class: it names the class, or what it is made of is not known."""
    names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
    if home.name in names:
        return True
    if not isinstance(value, ast.Call):
        return True
    classes = {one.name: one for one in source.tree.body if isinstance(one, ast.ClassDef)}
    if isinstance(value.func, ast.Name) and value.func.id in classes:
        made = classes[value.func.id]
        bases = {one.id for base in made.bases for one in ast.walk(base) if isinstance(one, ast.Name)}
        return home.name in bases
    name = dotted(source, value.func) or ""
    return not name.startswith("torch.nn.") or bool(names & classes.keys())


def _is_builtin(name: ast.Name) -> bool:
    return hasattr(builtins, name.id)
