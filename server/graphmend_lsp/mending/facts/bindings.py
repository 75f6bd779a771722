"""What a name or an attribute holds when a branch starts: whether it has a value, may be None, or is shared.

Pure reading of `Source`, used by the where rule to refuse what it cannot know.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.endings import sets
from graphmend_lsp.mending.syntax.source import Source, assigned, parameters

VIEWS = frozenset((
    "view", "reshape", "transpose", "permute", "T", "mT", "expand", "squeeze", "unsqueeze", "detach", "data", "flatten",
    "chunk", "split", "unbind", "narrow", "select", "diagonal", "t", "swapaxes", "movedim", "view_as",
    "expand_as", "real",
))  # fmt: skip
KEEPERS = frozenset(("append", "extend", "add", "insert", "setdefault", "update", "register_buffer", "setattr"))
_NEW_TENSOR = frozenset((
    "clone", "sin", "cos", "exp", "abs", "sqrt", "relu", "sigmoid", "tanh", "softmax", "matmul", "sum", "mean",
    "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "add", "sub", "mul", "div", "neg",
    "log", "clamp", "cumsum", "cat", "stack", "repeat", "where", "masked_fill", "new_zeros", "new_ones",
    "new_full",
))  # fmt: skip


def is_bound(source: Source, name: str, before: ast.stmt) -> bool:
    """Whether a name surely has a value when `before` starts: a parameter, or assigned on the way there."""
    function = source.function(before)
    if function is None:
        return False
    if name in parameters(function):
        return True
    one: ast.AST = before
    while one is not function:
        if isinstance(one, ast.stmt):
            block = source.block(one)
            for statement in block[: block.index(one)]:
                if name in _surely_assigned(source, statement):
                    return True
        one = source.parents[one]
        if isinstance(one, ast.match_case) and name in assigned(one.pattern):
            return True
        if isinstance(one, (ast.For, ast.With)) and name in assigned(
            one.target
            if isinstance(one, ast.For)
            else ast.Module(
                body=[ast.Expr(item.optional_vars) for item in one.items if item.optional_vars], type_ignores=[]
            )
        ):
            return True
    return False


def is_fresh(source: Source, name: str, before: ast.stmt) -> bool:
    """Whether a name surely holds a tensor that nothing else holds: an operation made it, and it gets no other name."""
    function = source.function(before)
    last = last_value(source, name, before)
    if function is None or name in parameters(function) or last is None:
        return False
    made = makes_tensor(last)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            parent = source.parents.get(node)
            if isinstance(parent, (ast.Assign, ast.Tuple, ast.List, ast.Dict, ast.Lambda, ast.AnnAssign)):
                return False  # it gets another name
            if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
                return False  # a view of it does
            if isinstance(parent, ast.Attribute) and parent.attr in VIEWS:
                return False
            if isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") in KEEPERS:
                return False
    return made


def makes_tensor(value: ast.expr) -> bool:
    """Whether an expression surely gives a new tensor (or a number): arithmetic, or an operation that copies."""
    return isinstance(value, ast.BinOp) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _NEW_TENSOR
    )


def last_value(source: Source, name: str, before: ast.stmt) -> ast.expr | None:
    """The value of the nearest plain assignment of a name on the way to `before`; None when something else sets it."""
    one: ast.AST = before
    while not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        if isinstance(one, ast.stmt):
            block = source.block(one)
            for statement in reversed(block[: block.index(one)]):
                if name in assigned(statement):
                    plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
                    return statement.value if plain and isinstance(statement, ast.Assign) else None
        one = source.parents[one]
    return None


def defaults_to_none(source: Source, name: str, before: ast.stmt) -> bool:
    """Whether a name is a parameter with the default None that no ``if`` around `before` has tested."""
    function = source.function(before)
    if function is None:
        return False
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    pairs = [*zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += [(arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default is not None]
    for one in source.ancestors(before):
        if isinstance(one, ast.If) and f"{name} is not None" in ast.unparse(one.test):
            return False
    return any(
        arg.arg == name and isinstance(default, ast.Constant) and default.value is None for arg, default in pairs
    )


def own_is_none(source: Source, name: str, at: ast.stmt) -> bool:
    """Whether the class gives ``self.name`` no value at all or None."""
    owner = source.owner(at)
    values: list[ast.expr | None] = []
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == f"self.{name}" for target in node.targets):
            inside = source.statement(node) is at or at in source.ancestors(node)
            values += [] if inside else [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) > 1:
            first = node.args[0]
            if node.func.attr.startswith("register_") and isinstance(first, ast.Constant) and first.value == name:
                values.append(node.args[1])
    return not values or any(isinstance(value, ast.Constant) and value.value is None for value in values)


def _surely_assigned(source: Source, statement: ast.stmt) -> frozenset[str]:
    """What has a value behind a statement; an exception that a ``with`` may end is left out of account."""
    if isinstance(statement, ast.If):
        sides = [
            frozenset(name for one in block for name in _surely_assigned(source, one))
            for block in (statement.body, statement.orelse)
            if not (block and isinstance(block[-1], (ast.Return, ast.Raise)))
        ]
        return sets(source, statement) | (frozenset.intersection(*sides) if sides else frozenset())
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return frozenset(name for one in statement.body for name in _surely_assigned(source, one))
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return assigned(statement)
    return sets(source, statement)
