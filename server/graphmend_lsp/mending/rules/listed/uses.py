"""What functions do with a list of rows that they are handed: which rows they gather, and where they store.

Pure reading of `Source`; every use that is not one of these refuses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.operators import FUNCTIONAL, FUNCTIONS, METHODS
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS, hazards
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, parameters
from graphmend_lsp.mending.syntax.walk import walk

_MIXING = frozenset((
    *(name for name, one in {**METHODS, **FUNCTIONS, **FUNCTIONAL}.items() if one.form in ("reduction", "scan")),
    "topk", "flip", "roll", "unique", "nonzero", "item", "tolist", "cat", "stack", "batch_norm", "t", "T",
))  # fmt: skip
"""What may put one row's values in another, unless it is told a dimension that is not the first."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A statement ``out[rows] = value``: its target and value, the name of the list, the expressions that gathered rows up
    to here (``x[rows]``), and what computes with them."""

    statement: ast.Assign
    target: ast.Subscript
    value: ast.expr
    name: str
    gathered: tuple[ast.Subscript, ...]
    modules: tuple[str, ...]


def handed_to(source: Source, function: Function, statement: ast.Assign) -> list[tuple[Function, str]]:
    """The functions that the list of a statement is handed to, with the parameter's name; empty when it is used right there.

    Raises:
        Refused: when it is not known what takes the list.
    """
    target = statement.targets[0]
    assert isinstance(target, ast.Name)
    found: list[tuple[Function, str]] = []
    own = 0
    for node in walk(function):
        if not isinstance(node, ast.Name) or node.id != target.id:
            continue
        if not isinstance(node.ctx, ast.Load):
            if node is not target and not _binds_none(source, node):
                raise Refused(f"`{target.id}` is bound in more than one place.")
            continue
        call = source.parents.get(node)
        keyword = call.arg if isinstance(call, ast.keyword) else None
        call = source.parents.get(call) if isinstance(call, ast.keyword) else call
        if not isinstance(call, ast.Call) or call.func is node or is_builtin(source, call.func, "len"):
            own += 1
            continue
        callee = _callee(source, call)
        if callee is None:
            raise Refused(f"`{source.code(call.func)}` takes the list of rows, and is no function of this file.")
        found.append((callee, _parameter(callee, call, node, keyword)))
    if found and own:
        raise Refused(f"`{target.id}` is handed on and also used right there.")
    return list(dict.fromkeys(found))


def stores_of(source: Source, function: Function, name: str) -> list[Stored]:
    """What a function stores at the rows of its parameter `name`.

    Raises:
        Refused: when it does anything else with the rows.
    """
    made: dict[str, list[ast.stmt]] = {}
    modules: list[str] = []
    gathered: list[ast.Subscript] = []
    stores: list[Stored] = []
    if name in {one for statement in function.body for one in assigned(statement)}:
        raise Refused(f"`{name}` is given another value in `{function.name}`.")
    for statement in sorted(_statements(function), key=lambda one: source.range(one)[0]):
        concerned = _reads(source, statement, name, made)
        if isinstance(statement, ast.If):
            if concerned and not _asks_for_some(source, statement, name):
                raise Refused(f"`{first_line(source, statement)}` asks more than whether there are rows.")
            if concerned:
                _refuse_more(source, statement)
            continue
        if not concerned:
            continue
        if any(isinstance(one, (ast.For, ast.While, ast.Try)) for one in source.ancestors(statement)) or not isinstance(
            statement, ast.Assign
        ):
            raise Refused(f"`{first_line(source, statement)}` uses the chosen rows otherwise than to store them.")
        _refuse_mixing(source, statement.value, modules)
        gathered += _gathered(source, statement.value, name)
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and len(statement.targets) == 1:
            if not (isinstance(target.slice, ast.Name) and target.slice.id == name):
                raise Refused(f"`{source.code(target)}` is not the rows that were chosen.")
            if not isinstance(target.value, ast.Name) or target.value.id in made:
                raise Refused(f"`{source.code(target.value)}` is no tensor with all rows; give it a name first.")
            stores.append(
                Stored(statement, target, statement.value, name, tuple(gathered), tuple(dict.fromkeys(modules)))
            )
            continue
        for one in assigned(statement):
            made.setdefault(one, []).append(statement)
        if not all(isinstance(one, (ast.Name, ast.Tuple)) for one in statement.targets):
            raise Refused(f"`{first_line(source, statement)}` keeps the chosen rows.")
    if not stores:
        raise Refused(f"`{function.name}` does not put the chosen rows back where they were.")
    return stores


def _binds_none(source: Source, node: ast.Name) -> bool:
    statement = source.parents.get(node)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is None
    )


def _callee(source: Source, call: ast.Call) -> Function | None:
    """The function of the file that a call means: by its name, or ``forward`` of the class that ``self.name`` is made of."""
    if isinstance(call.func, ast.Name):
        found = [one for one in source.tree.body if isinstance(one, ast.FunctionDef) and one.name == call.func.id]
        return found[0] if len(found) == 1 else None
    owner = source.owner(call)
    is_own = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "self"
    if owner is None or not is_own or not isinstance(call.func, ast.Attribute):
        return None
    name = call.func.attr
    made = [
        one.value
        for one in walk(owner)
        if isinstance(one, ast.Assign)
        and any(
            isinstance(t, ast.Attribute) and t.attr == name and getattr(t.value, "id", "") == "self"
            for t in one.targets
        )
    ]
    if not made:
        return _method(owner, name)
    builds = [getattr(one.func, "id", "") for one in made if isinstance(one, ast.Call)]
    classes = [one for one in source.tree.body if isinstance(one, ast.ClassDef) and one.name == (builds or [""])[0]]
    return _method(classes[0], "forward") if len(made) == len(builds) == len(classes) == 1 else None


def _method(owner: ast.ClassDef, name: str) -> Function | None:
    found = [one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == name]
    return found[0] if len(found) == 1 else None


def _parameter(callee: Function, call: ast.Call, node: ast.Name, keyword: str | None) -> str:
    """The parameter that an argument becomes.

    Raises:
        Refused: when that is not plain.
    """
    if keyword is not None and keyword in parameters(callee):
        return keyword
    names = [one.arg for one in (*callee.args.posonlyargs, *callee.args.args)]
    names = names[1:] if names[:1] == ["self"] else names
    plain = node in call.args and not any(isinstance(one, ast.Starred) for one in call.args)
    if keyword is not None or not plain or call.args.index(node) >= len(names):
        raise Refused(f"It is not clear which parameter of `{callee.name}` the list of rows becomes.")
    return names[call.args.index(node)]


def _statements(function: Function) -> list[ast.stmt]:
    return [one for one in walk(function) if isinstance(one, ast.stmt) and one is not function]


def _reads(source: Source, statement: ast.stmt, name: str, made: dict[str, list[ast.stmt]]) -> bool:
    """Whether a statement itself (of an ``if`` its test) reads the list, or what was computed from rows of it."""
    if hasattr(statement, "body"):
        heads = [getattr(statement, part, None) for part in ("iter", "test")]
        heads += [item.context_expr for item in getattr(statement, "items", [])]
        read = frozenset(one for head in heads if isinstance(head, ast.AST) for one in loaded(head))
    else:
        read = loaded(statement)
    return name in read or any(
        not _excludes(source, maker, statement) for one in read & made.keys() for maker in made[one]
    )


def _excludes(source: Source, one: ast.stmt, other: ast.stmt) -> bool:
    """Whether only one of two statements can run, as they stand on the two sides of an ``if``."""
    sides: dict[ast.AST, ast.AST] = {}
    child: ast.AST = one
    for up in source.ancestors(one):
        sides[up], child = child, up
    child = other
    for up in source.ancestors(other):
        if up in sides:
            both = [any(side is part for part in getattr(up, "orelse", [])) for side in (sides[up], child)]
            return isinstance(up, ast.If) and both[0] != both[1]
        child = up
    return False


def _asks_for_some(source: Source, choice: ast.If, name: str) -> bool:
    """Whether a test asks whether there are rows: ``len(rows) > 0``, ``rows.numel() > 0``; or for None."""
    test = choice.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    bound = test.comparators[0]
    if isinstance(test.ops[0], ast.IsNot) and isinstance(test.left, ast.Name) and isinstance(bound, ast.Constant):
        return test.left.id == name and bound.value is None
    length = test.left
    counts = isinstance(length, ast.Call) and (
        (is_builtin(source, length.func, "len") and [getattr(one, "id", "") for one in length.args] == [name])
        or (
            isinstance(length.func, ast.Attribute)
            and length.func.attr == "numel"
            and getattr(length.func.value, "id", "") == name
        )
    )
    zero = isinstance(bound, ast.Constant) and bound.value == 0
    return counts and zero and isinstance(test.ops[0], (ast.Gt, ast.NotEq))


def _refuse_more(source: Source, choice: ast.If) -> None:
    """Without rows the body must change nothing: it only binds names of its own, and stores at the rows."""
    if choice.orelse:
        raise Refused(f"`{first_line(source, choice)}` has an `else` for when there are no rows.")
    function = source.function(choice)
    assert function is not None
    end = source.range(choice)[1]
    for one in choice.body:
        if not isinstance(one, (ast.Assign, ast.If)) or (
            isinstance(one, ast.Assign) and any(isinstance(target, ast.Attribute) for target in one.targets)
        ):
            raise Refused(f"`{first_line(source, one)}` would also run where no row is chosen.")
    bound = {name for one in choice.body for name in assigned(one)}
    for node in walk(function):
        if not (isinstance(node, ast.Name) and node.id in bound and isinstance(node.ctx, ast.Load)):
            continue
        reader = source.statement(node)
        behind = source.range(node)[0] >= end and reader is not None and not _excludes(source, choice, reader)
        if behind and not _rebound(source, function, node, end):
            raise Refused(f"`{node.id}` would also be set where no row is chosen.")


def _rebound(source: Source, function: Function, node: ast.Name, end: int) -> bool:
    """Whether a name is bound again by the function's own block between an offset and a read."""
    return any(
        node.id in assigned(one) and isinstance(one, ast.Assign) and end <= source.range(one)[0]
        and source.range(one)[1] <= source.range(node)[0]
        for one in function.body
    )  # fmt: skip


def _refuse_mixing(source: Source, value: ast.expr, modules: list[str]) -> None:
    """Refuse what may put one row's values in another; note the modules."""
    for one in walk(value):
        if not isinstance(one, ast.Call):
            continue
        name = dotted(source, one.func)
        last = (name or "").rpartition(".")[2] or getattr(one.func, "attr", "")
        dims = [k.value for k in one.keywords if k.arg in ("dim", "axis")]
        if last in _MIXING and not any(_is_later(dim) for dim in dims):
            raise Refused(f"`{source.code(one)}` may mix the chosen rows.")
        is_own = isinstance(one.func, ast.Attribute) and getattr(one.func.value, "id", "") == "self"
        if is_own:
            modules.append(source.code(one.func))
        elif not ((name or "").startswith("torch.") or (name is None and last in TENSOR_METHODS)):
            raise Refused(f"`{source.code(one.func)}` is not known to treat each row for itself.")
        if not is_own and any(hazard.kind == "random" for hazard in hazards(source, one)):
            raise Refused(f"`{source.code(one)}` draws random numbers for each row.")


def _is_later(dim: ast.expr) -> bool:
    """Whether a dimension is surely not the first one."""
    parts = dim.elts if isinstance(dim, (ast.Tuple, ast.List)) else [dim]
    return all(
        isinstance(one, ast.Constant) and isinstance(one.value, int) and one.value > 0 for one in parts
    )  # fmt: skip


def _gathered(source: Source, value: ast.expr, name: str) -> list[ast.Subscript]:
    """The expressions that gather rows; every read of the list must be the index of one.

    Raises:
        Refused: when the list is used otherwise.
    """
    found: list[ast.Subscript] = []
    for one in walk(value):
        if isinstance(one, ast.Name) and one.id == name:
            parent = source.parents.get(one)
            if isinstance(parent, ast.Tuple) and parent.elts[0] is one:
                parent = source.parents.get(parent)
                rest = (
                    parent.slice.elts[1:]
                    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Tuple)
                    else []
                )
                if not all(isinstance(part, (ast.Slice, ast.Constant)) for part in rest):
                    raise Refused(f"`{source.code(parent or one)}` takes more than rows.")
            if (
                not isinstance(parent, ast.Subscript)
                or parent.value is one
                or not isinstance(parent.value, (ast.Name, ast.Attribute))
            ):
                raise Refused(f"`{first_line(source, source.statement(one) or one)}` uses the numbers of the rows.")
            found.append(parent)
    return found
