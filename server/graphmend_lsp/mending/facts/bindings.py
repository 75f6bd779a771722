"""What a name or an attribute holds when a branch starts: whether it has a value, may be None, or is shared.

Pure reading of `Source`, used by the where rule to refuse what it cannot know.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.operators import (
    Operator,
    operator_of_attribute,
    operator_of_builtin,
    operator_of_function,
    operator_of_method,
)
from graphmend_lsp.mending.syntax.endings import sets
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

KEEPERS = frozenset(("append", "extend", "add", "insert", "setdefault", "update", "register_buffer", "setattr"))


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
    end = source.range(before)[1]
    repeated = any(isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in source.ancestors(before))
    return makes_tensor(source, last) and not any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and (repeated or source.range(node)[0] < end)  # what is made of it behind is made of what it is then
        and is_kept(source, node)
        for node in walk(function)
    )


def makes_tensor(source: Source, value: ast.expr) -> bool:
    """Whether an expression surely gives a new tensor (or a number): arithmetic, or an operator that copies."""
    if isinstance(value, ast.BinOp):
        return True
    operator = operator_called(source, value) if isinstance(value, ast.Call) else None
    return operator is not None and operator.is_tensor and operator.is_new


def is_kept(source: Source, node: ast.expr) -> bool:
    """Whether something may still hold a tensor, or a view of it, after the expression that `node`, the tensor, is in.

    What the table of operators lacks may keep it.
    """
    parent = source.parents.get(node)
    if isinstance(parent, (ast.Attribute, ast.keyword, ast.Call)):
        return _is_kept_by_call(source, node, parent)
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    if isinstance(parent, (ast.IfExp, ast.BoolOp)):
        return not (isinstance(parent, ast.IfExp) and parent.test is node) and is_kept(source, parent)
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.UAdd) and is_kept(source, parent)
    used = (ast.BinOp, ast.Compare, ast.Expr, ast.AugAssign, ast.Return, ast.If, ast.While, ast.Assert, ast.Slice)
    return not isinstance(parent, (*used, ast.FormattedValue))


def _is_kept_by_call(source: Source, node: ast.expr, parent: ast.Attribute | ast.keyword | ast.Call) -> bool:
    if isinstance(parent, ast.Attribute):
        if not isinstance(parent.ctx, ast.Load):
            return False
        call = source.parents.get(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            made = operator_called(source, call)
            return made is None or (not made.is_new and is_kept(source, call))
        read = operator_of_attribute(parent.attr)
        return read is None or (not read.is_new and is_kept(source, parent))
    call = source.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return True
    called = operator_called(source, call)
    if called is None or getattr(call.func, "attr", "") in (*KEEPERS, "set_", "module_load", "backward"):
        return True
    method = isinstance(call.func, ast.Attribute) and dotted(source, call.func) is None
    return not (method or called.is_new) and is_kept(source, call)


def operator_called(source: Source, call: ast.Call) -> Operator | None:
    """The operator that a call calls, if it is known; None too where ``out`` or ``inplace`` says what the result is."""
    if any(one.arg in ("out", "inplace", None) for one in call.keywords):
        return None
    name = dotted(source, call.func)
    if name is not None:
        one = operator_of_function(name)
        return None if one is None or (one.inplace and len(call.args) > 1) else one
    if isinstance(call.func, ast.Name):
        return operator_of_builtin(call.func.id) if is_builtin(source, call.func, call.func.id) else None
    if isinstance(call.func, ast.Attribute):
        own = isinstance(call.func.value, ast.Name) and call.func.value.id == "self"
        sized = call.func.attr == "new" and bool(call.args) and is_size(source, call.args[0])
        return None if own else operator_of_method("new_empty" if sized else call.func.attr)
    return None


def is_size(source: Source, node: ast.expr, depth: int = 4) -> bool:
    """Whether an expression surely is a size, or several with a star: ``len(x)``, ``x.size(0) + 1``, ``*x.shape[1:]``."""
    if isinstance(node, ast.Starred):
        part = node.value.value if isinstance(node.value, ast.Subscript) else node.value
        return isinstance(part, (ast.Attribute, ast.Call)) and _gives_sizes(part)
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp):
        return is_size(source, node.left, depth) and is_size(source, node.right, depth)
    if isinstance(node, ast.Call) and is_builtin(source, node.func, "len"):
        return True
    if isinstance(node, ast.Subscript):
        return _gives_sizes(node.value) and not isinstance(node.slice, ast.Slice)
    at = source.statement(node) if isinstance(node, ast.Name) and depth else None
    value = last_value(source, node.id, at) if isinstance(node, ast.Name) and at is not None else None
    if value is not None:
        return is_size(source, value, depth - 1)
    return _gives_sizes(node)


def _gives_sizes(node: ast.expr) -> bool:
    """Whether an expression reads sizes: ``x.shape``, ``x.size()``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "size"
    return isinstance(node, ast.Attribute) and node.attr == "shape"


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


def value_at(source: Source, name: ast.Name) -> ast.expr | None:
    """The value that a name surely has where it is read: the last plain assignment on every way there.

    None where something else may bind it: a branch, a loop whose later turns read what an earlier one stored, a nested function.
    """
    one: ast.AST = name
    at = source.statement(name)
    if at is None or isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return None
    walrus = {node.target.id for node in walk(at) if isinstance(node, ast.NamedExpr)}
    if name.id in walrus or (isinstance(at, ast.While) and name.id in assigned(at)):
        return None
    while one is not at:
        if isinstance(one, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)):
            return None
        one = source.parents[one]
    function = source.function(at)
    if function is None or any(
        isinstance(node, (ast.Global, ast.Nonlocal)) and name.id in node.names for node in walk(function)
    ):
        return None
    while one is not function:
        if isinstance(one, ast.stmt):
            block = source.block(one)
            for statement in reversed(block[: block.index(one)]):
                if name.id in assigned(statement):
                    plain = isinstance(statement, ast.Assign) and all(
                        isinstance(target, ast.Name) for target in statement.targets
                    )
                    simple = plain and not any(isinstance(node, ast.NamedExpr) for node in walk(statement))
                    return statement.value if simple and isinstance(statement, ast.Assign) else None
        one = source.parents[one]
        around = isinstance(one, (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match))
        if around and name.id in assigned(one):
            return None
    return None


def module_constant(source: Source, name: ast.Name) -> ast.expr | None:
    """What a name of the module is bound to, once, where no function around its use binds the name; else None."""
    function = source.function(name)
    while function is not None:
        if name.id in local_names(function):
            return None
        function = source.function(function)
    made = [one for one in source.tree.body if name.id in assigned(one)]
    if any(isinstance(one, ast.Global) and name.id in one.names for one in source.nodes):
        return None
    return made[0].value if len(made) == 1 and isinstance(made[0], (ast.Assign, ast.AnnAssign)) else None


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
    for node in walk(owner) if owner is not None else ():
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
