"""The functions that hold a break, compiled again from their text with every expression handed to a hook that gives it back.

Places and everything that the functions compute stay; living functions get the new code. For uncompiled runs in a child.
"""

from __future__ import annotations

import ast
import gc
import os
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .places import same_file

NOTE, UNBOUND, ENTER, LEAVE = (f"__graphmend_{word}__" for word in ("note", "unbound", "enter", "leave"))
MOST_PLACES = 600
"""How many places of one function are watched, in the order of its text."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith)
_UNTOUCHED = (ast.JoinedStr, ast.Constant, ast.Lambda)


@dataclass(frozen=True)
class Place:
    """What a number handed to the hooks stands for. With a `name`: what that name was before a statement."""

    function: int
    spans: tuple[tuple[int, int, int, int], ...]
    name: str = ""


@dataclass
class Watched:
    """The functions of one run that are watched, by number, and their places, by number."""

    functions: list[tuple[str, str, int]] = field(default_factory=list)  # file, name, line of the ``def``
    places: list[Place] = field(default_factory=list)


def watch(file: str, text: str, lines: Sequence[int], watched: Watched) -> None:
    """Give the living functions of a file that stand around the lines code which tells `watched` places to the hooks.

    Raises:
        SyntaxError, ValueError, RecursionError: the text cannot be compiled.
    """
    tree = ast.parse(text, file)
    chosen = dict.fromkeys(chain for line in lines if (chain := tuple(_around(tree, line))))
    wanted: set[Function] = set()
    writers: list[_Writer] = []
    for chain in chosen:
        *outer, target = chain
        assert isinstance(target, (ast.FunctionDef, ast.AsyncFunctionDef))
        around = [one for one in outer if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        wanted.update((target, *around))
        writers.append(_Writer(len(watched.functions), target, around, watched))
        watched.functions.append((file, _name(chain), target.lineno))
    for writer in writers:
        writer.write()
    tree.body = list(_pruned(tree.body, wanted))
    made = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    firsts = {(one.name, _first_line(one)) for one in wanted}
    codes = {(code.co_name, code.co_firstlineno): code for code in _codes(made)}
    _exchange(file, {key: codes[key] for key in firsts if key in codes})


def _around(node: ast.AST, line: int) -> list[ast.AST]:
    """The classes and functions around a line, outermost first, the last a function; empty outside of functions."""
    for one in ast.iter_child_nodes(node):
        if hasattr(one, "lineno") and not _first_line(one) <= line <= (getattr(one, "end_lineno", None) or 0):
            continue
        inner = _around(one, line)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) or (inner and isinstance(one, ast.ClassDef)):
            return [one, *inner]
        if inner:
            return inner
    return []


def _first_line(node: ast.AST) -> int:
    """The line that a code object calls its first: the first decorator's."""
    decorators = getattr(node, "decorator_list", [])
    return min([getattr(node, "lineno", 1 << 30), *(one.lineno for one in decorators)])


def _name(chain: Sequence[ast.AST]) -> str:
    return ".".join(str(getattr(one, "name", "")) for one in chain)


def _pruned(body: Sequence[ast.stmt], wanted: set[Function]) -> Iterator[ast.stmt]:
    """The statements that lead to what is wanted; bodies of other functions are left out, and all other statements."""
    for one in body:
        if one in wanted or (isinstance(one, ast.ImportFrom) and one.module == "__future__"):
            yield one
        elif any(inner in wanted for inner in ast.walk(one)):
            if isinstance(one, ast.ClassDef):
                one.body = list(_pruned(one.body, wanted))
            yield one


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield one
            yield from _codes(one)


def _exchange(file: str, codes: dict[tuple[str, int], types.CodeType]) -> None:
    base = os.path.basename(file)
    spelled: dict[str, bool] = {}
    for function in [one for one in gc.get_objects() if type(one) is types.FunctionType]:
        old = function.__code__
        new = codes.get((old.co_name, old.co_firstlineno))
        if new is None:
            continue
        if old.co_filename not in spelled:
            spelled[old.co_filename] = old.co_filename.endswith(base) and same_file(old.co_filename, file)
        count = old.co_argcount + old.co_kwonlyargcount
        alike = (
            new.co_freevars == old.co_freevars
            and new.co_flags == old.co_flags
            and new.co_varnames[:count] == old.co_varnames[:count]
        )
        if spelled[old.co_filename] and alike:
            function.__code__ = new


class _Writer(ast.NodeTransformer):
    """Writes the hooks into one function."""

    def __init__(self, number: int, function: Function, around: Sequence[Function], watched: Watched) -> None:
        self._number, self._function, self._watched = number, function, watched
        self._count = 0
        self._local = frozenset(
            name
            for one in (function, *around)
            for name in (*_everything_bound(one), *(arg.arg for arg in _parameters(one)))
        )

    def write(self) -> None:
        """Change the function's body."""
        function = self._function
        head = [
            self._tell(ast.Name(one.arg, ast.Load()), place)
            for one in _parameters(function)
            if (place := self._place([one])) is not None
        ]
        body = function.body
        docs = body[:1] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else []
        rest = self._block(body[len(docs) :]) or [ast.Pass()]
        enter, leave = (ast.Expr(_call(word, ast.Constant(self._number))) for word in (ENTER, LEAVE))
        watched = ast.Try(body=[*head, *rest], handlers=[], orelse=[], finalbody=[leave])
        function.body = [*docs, enter, watched]
        for one in (enter, watched, leave, *head):
            ast.copy_location(one, function.body[0] if docs else body[0])

    # -- statements -----------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [one for statement in body for one in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, _SCOPES):
            return [node]  # a function in it is another one
        before = self._before(node) if isinstance(node, _COMPOUND) else []
        after: list[ast.stmt] = []
        if isinstance(node, ast.Assign):
            after = self._bound_by(node.targets)
            node.value = self._value(node.value, [one for one in node.targets if not _is_several(one)])
            for target in node.targets:
                self._target(target)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                node.value = self._value(node.value, [node.target])
            self._target(node.target)
        elif isinstance(node, ast.AugAssign):
            after = self._bound_by([node.target], single=True)
            node.value = self._value(node.value)
            self._target(node.target)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            bound = self._bound_by([node.target], single=True)
            node.iter = self._value(node.iter)
            self._target(node.target)
            node.body, node.orelse = [*bound, *self._block(node.body)], self._block(node.orelse)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            bound = self._bound_by([item.optional_vars for item in node.items if item.optional_vars], single=True)
            for item in node.items:
                item.context_expr = self._value(item.context_expr)
            node.body = [*bound, *self._block(node.body)]
        elif isinstance(node, ast.Match):
            node.subject = self._value(node.subject)
            for case in node.cases:
                case.guard = self._value(case.guard) if case.guard is not None else None
                case.body = self._block(case.body)
        elif isinstance(node, ast.Try):
            node.body, node.orelse = self._block(node.body), self._block(node.orelse)
            node.finalbody = self._block(node.finalbody)
            for handler in node.handlers:
                handler.body = self._block(handler.body)
        elif isinstance(node, (ast.If, ast.While)):
            node.test = self._value(node.test)
            node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        elif isinstance(node, (ast.Return, ast.Expr)) and node.value is not None:
            node.value = self._value(node.value)
        elif isinstance(node, (ast.Raise, ast.Assert)):
            self.generic_visit(node)
        return [*before, node, *after]

    def _before(self, node: ast.stmt) -> list[ast.stmt]:
        """Tell what the names that a compound statement may bind are before it."""
        told: list[ast.stmt] = []
        for name in dict.fromkeys(_bound([node])):
            place = self._place([node], name)
            if place is None:
                break
            gone = ast.ExceptHandler(
                type=ast.Name("NameError", ast.Load()),
                name=None,
                body=[ast.Expr(_call(UNBOUND, ast.Constant(place)))],
            )
            attempt = ast.Try(
                body=[self._tell(ast.Name(name, ast.Load()), place)], handlers=[gone], orelse=[], finalbody=[]
            )
            told.append(ast.copy_location(attempt, node))
        return told

    def _bound_by(self, targets: Sequence[ast.expr], *, single: bool = False) -> list[ast.stmt]:
        """Tell the names in targets behind what binds them; of plain targets (not `single`) the value was told."""
        told: list[ast.stmt] = []
        for target in targets:
            if not (single or _is_several(target)):
                continue
            for one in _names_in(target):
                place = self._place([one])
                if place is not None:
                    told.append(ast.copy_location(self._tell(ast.Name(one.id, ast.Load()), place), one))
        return told

    def _target(self, node: ast.expr) -> None:
        """Have the values in a target (the object, the index) told."""
        if isinstance(node, (ast.Tuple, ast.List)):
            for one in node.elts:
                self._target(one)
        elif isinstance(node, ast.Starred):
            self._target(node.value)
        elif isinstance(node, ast.Attribute):
            node.value = self._value(node.value)
        elif isinstance(node, ast.Subscript):
            node.value, node.slice = self._value(node.value), self._value(node.slice)

    # -- expressions ----------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, aliases: Sequence[ast.expr] = ()) -> ast.expr:
        """An expression that tells what it gives; the `aliases` are then the same."""
        watched = _is_watched(node) and not isinstance(node, _UNTOUCHED)
        if not watched:
            self.visit(node)
        place = self._place([node, *aliases] if watched else [*aliases]) if watched or aliases else None
        if watched:
            self._visit_parts(node)
        return node if place is None else self._told(node, place)

    def visit(self, node: ast.AST) -> ast.AST:
        """The node with the expressions in it, and itself if it is one, telling what they give."""
        if isinstance(node, _UNTOUCHED):
            return node
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and _is_watched(node):
            return self._value(node)
        return self.generic_visit(node)

    def _visit_parts(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call):
            self._visit_call(node)
        elif isinstance(node, ast.NamedExpr):
            node.value = self._value(node.value, [node.target])
        elif not (isinstance(node, ast.Attribute) and self._is_global(node)):
            self.generic_visit(node)

    def _visit_call(self, node: ast.Call) -> None:
        function = node.func
        if self._may_be_module(function):
            node.func = self._value(function)
        elif isinstance(function, ast.Attribute):
            if not self._is_global(function.value):
                function.value = self._value(function.value)
        elif not isinstance(function, ast.Name):
            node.func = self._value(function)
        node.args = [self._value(one) for one in node.args]
        for keyword in node.keywords:
            keyword.value = self._value(keyword.value)

    def _may_be_module(self, called: ast.expr) -> bool:
        """Whether what is called is a local name, or reached from ``self`` by attributes: no method of a value, or of torch."""
        if isinstance(called, ast.Name):
            return called.id in self._local
        while isinstance(called, ast.Attribute):
            called = called.value
        return isinstance(called, ast.Name) and called.id == "self"

    def _is_global(self, node: ast.expr) -> bool:
        """Whether an expression is a name of the module, or reached from one by attributes: ``torch.nn``."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self._local

    # -- the hooks ------------------------------------------------------------------------------------------------

    def _place(self, nodes: Sequence[ast.expr | ast.arg | ast.stmt], name: str = "") -> int | None:
        if self._count >= MOST_PLACES:
            return None
        self._count += 1
        self._watched.places.append(Place(self._number, tuple(map(_span, nodes)), name))
        return len(self._watched.places) - 1

    def _told(self, node: ast.expr, place: int) -> ast.Call:
        return ast.copy_location(_call(NOTE, ast.Constant(place), node), node)

    def _tell(self, node: ast.expr, place: int) -> ast.stmt:
        return ast.Expr(_call(NOTE, ast.Constant(place), node))


def _call(word: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(word, ast.Load()), args=list(arguments), keywords=[])


def _span(node: ast.expr | ast.arg | ast.stmt) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _is_watched(node: ast.expr) -> bool:
    """Whether an expression has a value of its own that may be handed on."""
    if isinstance(node, (ast.Slice, ast.Starred, ast.Yield, ast.YieldFrom, ast.Await, ast.FormattedValue)):
        return False
    return not (isinstance(node, ast.Tuple) and any(isinstance(one, (ast.Slice, ast.Starred)) for one in node.elts))


def _is_several(target: ast.expr) -> bool:
    return isinstance(target, (ast.Tuple, ast.List, ast.Starred))


def _names_in(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for one in target.elts:
            yield from _names_in(one)
    elif isinstance(target, ast.Starred):
        yield from _names_in(target.value)


def _parameters(function: Function) -> list[ast.arg]:
    arguments = function.args
    rest = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def _everything_bound(function: Function) -> Iterator[str]:
    """The names that a function binds, in its comprehensions too."""
    yield from _bound(function.body)
    for one in ast.walk(function):
        if isinstance(one, ast.comprehension):
            yield from (name.id for name in _names_in(one.target))


def _bound(body: Sequence[ast.AST]) -> Iterator[str]:
    """The names that statements bind in their own scope."""
    for one in body:
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, (ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and one.name:
            yield one.name
        if isinstance(one, _COMPREHENSIONS):
            yield from (inner.target.id for inner in ast.walk(one) if isinstance(inner, ast.NamedExpr))
        elif not isinstance(one, _SCOPES):
            yield from _bound(list(ast.iter_child_nodes(one)))
