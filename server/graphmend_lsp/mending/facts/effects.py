"""Which statements only say something: print, writes to the standard streams, loggers' methods, warnings.

Pure reading of a source. What is done about such a statement is in the other `defer` rooms.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.mending.syntax.imports import binding, dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

Kind = Literal["print", "write", "log", "warn"]

LOG_METHODS = frozenset(
    ("debug", "info", "warning", "warn", "error", "critical", "fatal", "log", "success", "trace", "warning_advice")
)
PRINTERS = frozenset(
    ("rich.print", "tqdm.tqdm.write", "tqdm.auto.tqdm.write", "click.echo", "click.secho", "typer.echo", "typer.secho")
)
"""Functions of packages that print what they are given, and do nothing else."""
_MAKERS = frozenset(("getLogger", "get_logger", "get_absl_logger", "getChild"))
_LOGGER_NAMES = frozenset(("logger", "log", "LOGGER", "LOG", "_logger", "_log"))
_SCALARS = frozenset(("int", "float", "bool", "str"))
_FIXED = frozenset(("shape", "dtype", "device", "ndim", "requires_grad", "is_cuda", "layout", "__name__", "__class__"))
_SCALAR_CALLS = frozenset(("len", "type", "isinstance", "hasattr", "id", "callable"))
_STATIC_CALLS = frozenset(
    ("int", "float", "bool", "str", "max", "min", "abs", "round", "sum", "tuple", "list", "sorted")
)
_SIZE_METHODS = frozenset(("size", "dim", "numel", "element_size", "is_floating_point", "stride", "nelement"))


@dataclass(frozen=True, slots=True)
class Effect:
    """A statement that is one call which only says something.

    `label` is the call as a user names it (``logger.info``); `receiver` is what a logger's method belongs to; `once`
    says that the callee itself drops a text it has said before.
    """

    statement: ast.Expr
    call: ast.Call
    kind: Kind
    label: str
    receiver: ast.expr | None = None
    once: bool = False


def blames_caller(effect: Effect) -> str | None:
    """Why a message must be said in its own frame: it names the line of one around it. None where it does not."""
    given = [one.value for one in effect.call.keywords if one.arg in ("stacklevel", "skip_file_prefixes")]
    given += effect.call.args[2:3] if effect.kind == "warn" else []
    if all(isinstance(one, ast.Constant) and one.value == 1 for one in given):
        return None
    return "Its `stacklevel` names a caller's line, and from another function it names another line."


def effect_of(source: Source, statement: ast.AST, certain: bool = False) -> Effect | None:
    """The effect that a statement is, or None. `certain`: the break says that a logger's method is called here."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return None
    call = statement.value
    if is_builtin(source, call.func, "print"):
        return Effect(statement, call, "print", "print")
    name = dotted(source, call.func)
    if name in ("sys.stdout.write", "sys.stderr.write"):
        return Effect(statement, call, "write", name)
    if name in PRINTERS:
        return Effect(statement, call, "print", name)
    if name == "warnings.warn":
        return Effect(statement, call, "warn", "warnings.warn")
    if not isinstance(call.func, ast.Attribute):
        return None
    method = call.func.attr
    once = method.endswith("_once")
    if method in LOG_METHODS or method == "exception" or (once and method.removesuffix("_once") in LOG_METHODS):
        receiver = call.func.value
        if name == f"logging.{method}" or certain or is_logger(source, receiver):
            return Effect(statement, call, "log", source.code(call.func), receiver, once)
    return None


def is_logger(source: Source, receiver: ast.expr) -> bool:
    """Whether an expression is a logger by what it is bound to: a getLogger call, or an import of a name for
    loggers."""
    if isinstance(receiver, ast.Call):
        return _makes_logger(receiver)
    if isinstance(receiver, ast.Name):
        name = receiver.id
        function = source.function(receiver)
        while function is not None:
            if name in local_names(function):
                return any(_makes_logger(value) for value in bindings(function, name) if value is not None)
            function = source.function(function)
        for statement in source.tree.body:
            for target, value in _assignments(statement):
                if isinstance(target, ast.Name) and target.id == name and _makes_logger(value):
                    return True
        return name in _LOGGER_NAMES and (
            binding(source, name, receiver) is not None or _imported_relatively(source, name)
        )
    if isinstance(receiver, ast.Attribute) and isinstance(receiver.value, ast.Name):
        owner = source.owner(receiver)
        if owner is not None and receiver.value.id in ("self", "cls", owner.name):
            for node in walk(owner):
                if isinstance(node, (ast.Assign, ast.AnnAssign)):
                    for target, value in _assignments(node):
                        own = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
                        if own == receiver.attr and _makes_logger(value):
                            return True
    return False


def effects_in(source: Source, function: Function) -> Iterator[Effect]:
    """The effects of a function's own body in the order of the text; nested functions are left out."""
    for statement in own_statements(function):
        found = effect_of(source, statement)
        if found is not None:
            yield found


def own_statements(function: Function) -> Iterator[ast.stmt]:
    """All statements of a function in the order of the text, without those of functions and classes nested in it."""

    for statement in function.body:
        yield from statements_in(statement)


def statements_in(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and all statements in it, in the order of the text; what is in nested functions and classes is
    not."""
    yield statement
    stack = list(reversed(list(ast.iter_child_nodes(statement))))
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """All nodes of a function's body, without those of functions and classes nested in it (lambdas are included)."""
    stack: list[ast.AST] = list(reversed(function.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def bindings(function: Function, name: str) -> list[ast.expr | None]:
    """What a name is bound to in a function's body: the values of its assignments, None for any other binding."""
    found: list[ast.expr | None] = []
    for node in own_nodes(function):
        if (isinstance(node, ast.Assign) and any(_binds(target, name) for target in node.targets)) or (
            isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and _binds(node.target, name)
        ):
            found.append(node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and _binds(node.target, name):
            found.append(node.iter)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            found += [None for item in node.items if item.optional_vars and _binds(item.optional_vars, name)]
        elif (isinstance(node, ast.ExceptHandler) and node.name == name) or (
            isinstance(node, (ast.Import, ast.ImportFrom))
            and any((alias.asname or alias.name.split(".")[0]) == name for alias in node.names)
        ):
            found.append(None)
    return found


def is_static(source: Source, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression's value is known to Dynamo while it traces: numbers, texts, shapes, settings; no tensor."""
    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr():
            return all(is_static(source, part, seen) for part in node.values)
        case ast.FormattedValue():
            return is_static(source, node.value, seen)
        case ast.BinOp():
            return is_static(source, node.left, seen) and is_static(source, node.right, seen)
        case ast.UnaryOp():
            return is_static(source, node.operand, seen)
        case ast.BoolOp():
            return all(is_static(source, value, seen) for value in node.values)
        case ast.Compare():
            if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
                return True
            return all(is_static(source, one, seen) for one in (node.left, *node.comparators))
        case ast.IfExp():
            return all(is_static(source, one, seen) for one in (node.test, node.body, node.orelse))
        case ast.Tuple() | ast.List():
            return all(is_static(source, one, seen) for one in node.elts)
        case ast.Subscript():
            return is_static(source, node.value, seen)
        case ast.Slice():
            return True
        case ast.Attribute():
            return _static_attribute(source, node)
        case ast.Call():
            return _static_call(source, node, seen)
        case ast.Name():
            return _static_name(source, node, seen)
    return False


def _static_attribute(source: Source, node: ast.Attribute) -> bool:
    if node.attr in _FIXED or dotted(source, node) is not None:
        return True
    owner = source.owner(node)
    if not (isinstance(node.value, ast.Name) and node.value.id == "self" and owner is not None):
        return False
    scalars = False
    for one in walk(owner):
        if isinstance(one, (ast.Assign, ast.AnnAssign)):
            for target, value in _assignments(one):
                if isinstance(target, ast.Attribute) and target.attr == node.attr:
                    if any(isinstance(part, ast.Call) for part in walk(value)):
                        return False
                    scalars = True
    return scalars or node.attr == "training"


def _static_call(source: Source, node: ast.Call, seen: frozenset[str]) -> bool:
    if isinstance(node.func, ast.Name) and is_builtin(source, node.func, node.func.id):
        if node.func.id in _SCALAR_CALLS:
            return True
        if node.func.id in _STATIC_CALLS:
            return all(is_static(source, one, seen) for one in node.args)
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _SIZE_METHODS
    return False


def _static_name(source: Source, node: ast.Name, seen: frozenset[str]) -> bool:
    if node.id in seen:
        return True
    function = source.function(node)
    if function is None or node.id not in local_names(function):
        return not _holds_tensor(source, node.id)
    if node.id in parameters(function) and not scalar_parameter(function, node.id):
        return False
    values = bindings(function, node.id)
    return all(value is not None and is_static(source, _ranged(source, value), seen | {node.id}) for value in values)


def _holds_tensor(source: Source, name: str) -> bool:
    """Whether a module-level name is bound to the result of a torch function."""
    return any(
        isinstance(target, ast.Name)
        and target.id == name
        and any(
            isinstance(one, ast.Call) and (dotted(source, one.func) or "").startswith("torch.") for one in walk(value)
        )
        for statement in source.tree.body
        for target, value in _assignments(statement)
    )


def _ranged(source: Source, value: ast.expr) -> ast.expr:
    """What a loop over ``range(...)`` or ``enumerate(...)`` counts: its arguments stand for it."""
    if isinstance(value, ast.Call) and is_builtin(source, value.func, "range"):
        return ast.Tuple(elts=list(value.args), ctx=ast.Load())
    return value


def scalar_parameter(function: Function, name: str) -> bool:
    """Whether a parameter's annotation, or else its default, says that it is a number or a text."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults: dict[str, ast.expr | None] = dict(
        zip([one.arg for one in positional[len(positional) - len(a.defaults) :]], a.defaults, strict=True)
    )
    defaults |= {one.arg: default for one, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)}
    for one in (*positional, *a.kwonlyargs):
        if one.arg == name:
            if one.annotation is not None:
                names = {n.id for n in walk(one.annotation) if isinstance(n, ast.Name)}
                return bool(names & _SCALARS) and names <= _SCALARS | {"Optional", "Union"}
            default = defaults.get(name)
            return isinstance(default, ast.Constant) and default.value is not None
    return False


def _assignments(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield target, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value


def _makes_logger(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return name in _MAKERS


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in walk(target))


def _imported_relatively(source: Source, name: str) -> bool:
    return any(
        isinstance(statement, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in statement.names)
        for statement in source.tree.body
    )


def changed_by(node: ast.AST) -> frozenset[str]:
    """The name whose tensor a node changes in place."""
    target: ast.AST | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        target = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        target = node.func.value if name.endswith("_") and not name.endswith("__") else None
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return frozenset({target.id}) if isinstance(target, ast.Name) else frozenset()
