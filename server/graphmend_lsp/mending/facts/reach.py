"""Which functions of a file may lead to a function of it, by the text, and where such a call stands in a ``try``.

What a name, a method or an attribute of ``self`` may call is judged widely: a submodule that was not made here by name may be
any module of the file. Pure reading; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator

from graphmend_lsp.mending.syntax.imports import binding, dotted
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk

_RUN = ("forward", "__call__")


def caught_at(source: Source, function: Function) -> int | None:
    """The line of the first call of the file that may lead to `function` and whose exceptions a handler there may catch."""
    calls = Calls(source).leading_to(function)[1]
    return min((source.span(one).start.line for one in calls if _is_handled(source, one)), default=None)


def called_within(source: Source, function: Function, words: tuple[str, ...]) -> int | None:
    """The line of the first call of the file that may lead to `function` from inside a ``with`` whose text has one of `words`."""
    blocks = [
        one
        for one in source.nodes
        if isinstance(one, ast.With)
        and any(word in source.code(item.context_expr) for item in one.items for word in words)
    ]
    if not blocks:
        return None
    calls = set(Calls(source).leading_to(function)[1])
    for block in blocks:
        for call in (one for part in block.body for one in walk(part) if isinstance(one, ast.Call)):
            if call in calls:
                return source.span(call).start.line
    return None


class Calls:
    """The calls of a file, by what they may call; each is looked at once, however many functions are asked about."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._by_name: dict[str, list[ast.Call]] = defaultdict(list)
        self._by_attribute: dict[str, list[ast.Call]] = defaultdict(list)
        self._of_any_module: list[ast.Call] = []  # of names and values that may be a module
        self._of_stored: dict[tuple[ast.ClassDef, str], list[ast.Call]] = defaultdict(list)  # ``self.x(...)``
        self._stored: dict[ast.ClassDef, dict[str, list[_Value]]] = {}
        self._classes = {one.name: one for one in source.tree.body if isinstance(one, ast.ClassDef)}
        self._defined = {getattr(one, "name", "") for one in source.tree.body}
        for one in source.nodes:
            if isinstance(one, ast.Call):
                self._sort(one)

    def leading_to(self, function: Function) -> tuple[frozenset[Function], list[ast.Call]]:
        """The functions that may call `function`, through others too, and itself; and the calls that may run one of them."""
        found = {function: None}
        calls: dict[ast.Call, None] = {}
        left = [function]
        while left:
            for call in self._of(left.pop()):
                calls[call] = None
                home = self._source.function(call)
                if home is not None and home not in found:
                    found[home] = None
                    left.append(home)
        return frozenset(found), list(calls)

    def _sort(self, call: ast.Call) -> None:
        source, called = self._source, call.func
        if isinstance(called, ast.Name):
            self._by_name[called.id].append(call)
            known = binding(source, called.id, called) is not None or called.id in self._defined
            if not known and source.function(called) is not None and not hasattr(builtins, called.id):
                self._of_any_module.append(call)
        elif not isinstance(called, ast.Attribute):
            self._of_any_module.append(call)
        elif dotted(source, called) is None:
            self._by_attribute[called.attr].append(call)
            owner = source.owner(called)
            if isinstance(called.value, ast.Name) and called.value.id == "self" and owner is not None:
                self._of_stored[owner, called.attr].append(call)

    def _of(self, function: Function) -> Iterator[ast.Call]:
        """The calls that may run a function of the file."""
        home = self._source.parents.get(function)
        if not isinstance(home, ast.ClassDef):
            yield from self._by_name[function.name]
            return
        yield from self._by_attribute[function.name]
        if function.name not in _RUN:
            return
        yield from self._of_any_module
        for (owner, attribute), calls in self._of_stored.items():
            if attribute != function.name and self._may_hold(owner, attribute, home):
                yield from calls

    def _may_hold(self, owner: ast.ClassDef, attribute: str, home: ast.ClassDef) -> bool:
        """Whether an attribute that a class gives its objects may be, or hold, a module of the class `home`."""
        if any(getattr(one, "name", "") == attribute for one in owner.body):
            return False
        if owner not in self._stored:
            self._stored[owner] = self._stored_in(owner)
        values = self._stored[owner].get(attribute, [])
        return not values or any(value.may_make(home) for value in values)

    def _stored_in(self, owner: ast.ClassDef) -> dict[str, list[_Value]]:
        found: dict[str, list[_Value]] = defaultdict(list)
        for one in walk(owner):
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                for attribute in {target.attr for target in targets if isinstance(target, ast.Attribute)}:
                    found[attribute].append(_Value(self._source, one.value, self._classes))
        return found


class _Value:
    """A value that a class stores: which classes of the file it names, and whether it may be a module of any."""

    def __init__(self, source: Source, value: ast.expr, classes: dict[str, ast.ClassDef]) -> None:
        self._names = {one.id for one in walk(value) if isinstance(one, ast.Name)}
        self._is_open = not isinstance(value, ast.Call)
        if not isinstance(value, ast.Call):
            return
        if isinstance(value.func, ast.Name) and value.func.id in classes:
            bases = classes[value.func.id].bases
            self._names |= {one.id for base in bases for one in walk(base) if isinstance(one, ast.Name)}
        else:
            name = dotted(source, value.func) or ""
            self._is_open = not name.startswith("torch.nn.") or bool(self._names & classes.keys())

    def may_make(self, home: ast.ClassDef) -> bool:
        """Whether it may be, or hold, a module of a class: it names the class, or what it is made of is not known."""
        return self._is_open or home.name in self._names


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
