"""Functions of the program that only say something: ``def warn_once(text)``, ``print_rank_0``, ``rank_zero_warn``. Pure reading.

Such a function prints, logs or warns, perhaps on a condition or once, and changes nothing but a private name of its own module
that no other function reads. It reads no variable that may change between the message and the end of a graph. It is found
through imports, decorators of the program, and `functools`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.effects import Effect, Kind, effect_of, is_logger, is_static
from graphmend_lsp.mending.facts.elsewhere import Elsewhere, is_outer, only_binding
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, parameters
from graphmend_lsp.mending.syntax.walk import walk

_DEEP = 6
_CACHES = ("functools.lru_cache", "functools.cache")
_ASKS = frozenset((
    "os.environ.get", "os.getenv", "torch.distributed.is_initialized", "torch.distributed.is_available",
    "torch.distributed.get_rank", "torch.distributed.get_world_size",
))  # fmt: skip
"""Functions that only ask, which the table of operators lacks."""


@dataclass(frozen=True, slots=True)
class _Speaker:
    """A function, with the functions that parameters of the one around it hold.

    `is_cached` says that it drops what it was given before.
    """

    source: Source
    function: ast.FunctionDef
    given: Mapping[str, _Speaker | Kind] = field(default_factory=dict)
    is_cached: bool = False


class _UnknownError(Exception):
    """A function may do more than say something."""


def message_of(source: Source, sources: Mapping[str, str], statement: ast.AST, certain: bool = False) -> Effect | None:
    """The message that a statement is: itself (`effect_of`), or by a function of `sources` that only says something."""
    found = effect_of(source, statement, certain)
    if found is not None or not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return found
    kind = _Speakers(Elsewhere(sources), source).kind_of(statement.value)
    return None if kind is None else Effect(statement, statement.value, kind, source.code(statement.value.func))


@dataclass(frozen=True, slots=True)
class _Speakers:
    elsewhere: Elsewhere
    source: Source

    def kind_of(self, call: ast.Call) -> Kind | None:
        """How a call of a function says something; None where it may do more, or is not known."""
        try:
            speaker = self._value(self.source, call.func, {}, _DEEP)
            if not isinstance(speaker, _Speaker):
                return speaker
            given = [*call.args, *(one.value for one in call.keywords)]
            if speaker.is_cached and not all(is_static(self.source, one) for one in given):
                return None
            kinds = set(self._said(speaker, speaker.function.body, 1))
        except _UnknownError:
            return None
        return next((one for one in ("warn", "log", "print", "write") if one in kinds), None)

    # -- what a function says -------------------------------------------------------------------------------------

    def _said(self, speaker: _Speaker, body: Sequence[ast.stmt], frames: int) -> Iterator[Kind]:
        """How statements of a function say something; `frames` functions are called by then."""
        for one in body:
            match one:
                case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None | ast.Constant()):
                    continue
                case ast.Global() if all(self._is_own(speaker, name) for name in one.names):
                    continue
                case ast.Expr(value=ast.Call() as call) if self._remembers(speaker, call):
                    continue
                case ast.Expr(value=ast.Call() as call) | ast.Return(value=ast.Call() as call):
                    yield from self._said_by(speaker, call, frames)
                case ast.If():
                    self._ask(speaker, one.test)
                    yield from self._said(speaker, (*one.body, *one.orelse), frames)
                case ast.For(target=ast.Name()):
                    self._ask(speaker, one.iter)
                    yield from self._said(speaker, (*one.body, *one.orelse), frames)
                case ast.Assign(targets=[ast.Name()]) | ast.AnnAssign(target=ast.Name(), value=ast.expr()):
                    assert one.value is not None
                    self._ask(speaker, one.value)
                case _:
                    raise _UnknownError

    def _said_by(self, speaker: _Speaker, call: ast.Call, frames: int) -> Iterator[Kind]:
        for one in (*call.args, *(each.value for each in call.keywords)):
            self._ask(speaker, one)
        leaf = effect_of(speaker.source, ast.Expr(call))
        if leaf is not None:
            level = [one.value for one in call.keywords if one.arg in ("stacklevel", "skip_file_prefixes")]
            level += call.args[2:3] if leaf.kind == "warn" else []
            for one in level:
                if not (isinstance(one, ast.Constant) and type(one.value) is int and one.value <= frames + 1):
                    raise _UnknownError  # it names a line outside of the call
            if leaf.label.endswith(".exception") or any(one.arg in ("exc_info", "stack_info") for one in call.keywords):
                raise _UnknownError
            yield leaf.kind
            return
        found = self._value(speaker.source, call.func, speaker.given, _DEEP - frames)
        if isinstance(found, _Speaker):
            yield from self._said(found, found.function.body, frames + 1)
        else:
            yield found

    def _ask(self, speaker: _Speaker, value: ast.expr) -> None:
        """Refuse an expression that may do more than give a value."""
        for one in walk(value):
            if isinstance(one, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                raise _UnknownError
        for hazard in hazards(speaker.source, value):
            if hazard.kind == "raises":
                continue  # it raises from the graph, too
            call = hazard.node if isinstance(hazard.node, ast.Call) else None
            asks = call is not None and dotted(speaker.source, call.func) in _ASKS
            if not asks and (call is None or not self.elsewhere.only_gives(speaker.source, call)):
                raise _UnknownError
        if any(self._may_change(speaker, one) for one in walk(value)):
            raise _UnknownError

    def _may_change(self, speaker: _Speaker, node: ast.AST) -> bool:
        """Whether a name or an attribute is a variable of a module that code may change before the graph ends."""
        source = speaker.source
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_outer(source, node.value):
            files = (source, self.source)
            stored = [one for file in files for one in file.nodes if isinstance(one, ast.Attribute)]
            inside = [
                one for one in stored if one.attr == node.attr and isinstance(one.ctx, ast.Store)
                if (source.function(one) or self.source.function(one)) is not None
            ]  # fmt: skip
            return bool(inside)
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and is_outer(source, node)):
            return False
        if self._is_own(speaker, node.id):
            return False
        bound = only_binding(source, node.id)
        if isinstance(bound, (ast.Assign, ast.AnnAssign)):
            parent = source.parents.get(node)
            value = bound.value
            is_call = isinstance(parent, ast.Attribute) and is_logger(source, node)
            return not (is_call or (value is not None and _is_fixed(source, value)))
        return bound is None

    def _remembers(self, speaker: _Speaker, call: ast.Call) -> bool:
        """Whether a call only notes something in a private list or set of the module, which no other function reads."""
        kept = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in ("add", "append")):
            return False
        if not (isinstance(kept, ast.Name) and self._is_own(speaker, kept.id)):
            return False
        for one in call.args:
            self._ask(speaker, one)
        return True

    def _is_own(self, speaker: _Speaker, name: str) -> bool:
        """Whether a private name of the module is read by this function alone."""
        inside = {id(one) for one in walk(speaker.function)}
        uses = [one for one in speaker.source.nodes if isinstance(one, ast.Name) and one.id == name]
        read = [one for one in uses if isinstance(one.ctx, ast.Load) and id(one) not in inside]
        top = [one for one in speaker.source.tree.body if isinstance(one, (ast.Assign, ast.AnnAssign))]
        made = any(id(use) in {id(each) for each in walk(one)} for one in top for use in uses)
        return name.startswith("_") and made and not read and name not in parameters(speaker.function)

    # -- which function it is -------------------------------------------------------------------------------------

    def _value(
        self, source: Source, node: ast.expr, given: Mapping[str, _Speaker | Kind], deep: int
    ) -> _Speaker | Kind:
        """The function that an expression is, or how it says something where it is one of Python's."""
        leaf = effect_of(source, ast.Expr(ast.Call(node, [], [])))
        if leaf is not None:
            return leaf.kind
        if isinstance(node, ast.Name) and node.id in given and not is_outer(source, node):
            return given[node.id]
        if deep > 0 and isinstance(node, ast.Name) and is_outer(source, node):
            return self._named(source, node.id, deep - 1)
        if deep > 0 and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.elsewhere.module_of(source, node.value)
            if module is not None:
                return self._named(module, node.attr, deep - 1)
        if deep > 0 and isinstance(node, ast.Call):
            return self._made(source, node, given, deep - 1)
        raise _UnknownError

    def _named(self, source: Source, name: str, deep: int) -> _Speaker | Kind:
        """The function that a name of a module is."""
        bound = only_binding(source, name)
        if isinstance(bound, ast.FunctionDef):
            found: _Speaker | Kind = _Speaker(source, bound)
            for one in reversed(bound.decorator_list):
                found = self._decorated(source, one, found, deep)
            return found
        if isinstance(bound, ast.Assign) and len(bound.targets) == 1 and isinstance(bound.targets[0], ast.Name):
            return self._value(source, bound.value, {}, deep)
        if isinstance(bound, ast.ImportFrom) and deep > 0:
            origin = self.elsewhere.origin(source, bound, name)
            if origin is not None:
                return self._named(*origin, deep - 1)
        raise _UnknownError

    def _made(self, source: Source, call: ast.Call, given: Mapping[str, _Speaker | Kind], deep: int) -> _Speaker | Kind:
        """The function that ``functools.partial(function, ...)`` or ``decorator(function)`` gives."""
        if not call.args or any(one.arg in (None, "stacklevel", "skip_file_prefixes") for one in call.keywords):
            raise _UnknownError
        inner = self._value(source, call.args[0], given, deep)
        if dotted(source, call.func) == "functools.partial":
            if len(call.args) > 2 or not all(is_static(source, one.value) for one in call.keywords):
                raise _UnknownError
            return inner
        if len(call.args) > 1 or call.keywords:
            raise _UnknownError
        return self._decorated(source, call.func, inner, deep)

    def _decorated(self, source: Source, decorator: ast.expr, inner: _Speaker | Kind, deep: int) -> _Speaker | Kind:
        """The function that a decorator makes of another."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted(source, called) in _CACHES and isinstance(inner, _Speaker):
            return _Speaker(inner.source, inner.function, inner.given, is_cached=True)
        outer = self._value(source, decorator, {}, deep) if deep > 0 else None
        if not isinstance(outer, _Speaker) or isinstance(decorator, ast.Call):
            raise _UnknownError
        body = [one for one in outer.function.body if not isinstance(one, ast.Expr)]
        names = parameters(outer.function)
        match body:
            case [ast.FunctionDef() as inside, ast.Return(value=ast.Name(id=given))] if given == inside.name:
                (parameter,) = names if len(names) == 1 else ("",)
                wraps = [one for one in inside.decorator_list if _wraps(outer.source, one, parameter)]
                if parameter and len(wraps) == len(inside.decorator_list):
                    return _Speaker(
                        outer.source, inside, {parameter: inner}, isinstance(inner, _Speaker) and inner.is_cached
                    )
        raise _UnknownError


def _is_fixed(source: Source, value: ast.expr) -> bool:
    """Whether what a variable is bound to cannot change: a constant, or a number or text that a call makes."""
    if isinstance(value, ast.Tuple):
        return all(_is_fixed(source, one) for one in value.elts)
    if isinstance(value, ast.UnaryOp):
        return _is_fixed(source, value.operand)
    made = value.func if isinstance(value, ast.Call) else None
    plain = made is not None and any(is_builtin(source, made, one) for one in ("int", "float", "bool", "str"))
    return (
        plain
        or isinstance(value, (ast.Constant, ast.JoinedStr))
        or (made is not None and dotted(source, made) in _ASKS)
    )


def _wraps(source: Source, decorator: ast.expr, parameter: str) -> bool:
    return isinstance(decorator, ast.Call) and (
        dotted(source, decorator.func) == "functools.wraps" and source.code(decorator.args[0]) == parameter
    )
