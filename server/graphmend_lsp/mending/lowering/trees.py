"""Containers of tensors as values: both sides of a condition are chosen leaf by leaf where they have one structure.

A structure is a display (list, tuple, dict with constant keys) or a call of a dataclass or named tuple of the file that only
keeps what it is given. What is no tensor must be the same text on both sides. Nothing here knows what is done with the value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.lowering.choice_values import Choice, Old, Tree, Value
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned, loaded, parameters
from graphmend_lsp.mending.syntax.walk import walk

_METHODS_THAT_ACT = frozenset(("__post_init__", "__init__", "__new__", "__setattr__", "__getattribute__"))
_READING = ("len", "zip", "enumerate", "reversed", "sum", "tuple", "list")


@dataclass(frozen=True, slots=True)
class Shape:
    """The structure of a container: `fields` name its places, `pieces` is the text around them, `nodes` stand in them.

    The first of `fields` is what the container is: ``list``, ``tuple``, ``dict`` or the name of a class.
    """

    fields: tuple[str, ...]
    pieces: tuple[str, ...]
    nodes: tuple[ast.expr, ...]


def shape_of(source: Source, node: ast.AST) -> Shape | None:
    """The structure that an expression makes, its places in the order of evaluation; None when it makes none that is known."""
    if isinstance(node, (ast.List, ast.Tuple)):
        if any(isinstance(one, ast.Starred) for one in node.elts):
            return None
        start, end = ("[", "]") if isinstance(node, ast.List) else ("(", ",)" if len(node.elts) == 1 else ")")
        kind = "list" if isinstance(node, ast.List) else "tuple"
        return _shape(
            kind, [str(index) for index in range(len(node.elts))], [""] * len(node.elts), node.elts, start, end
        )
    if isinstance(node, ast.Dict):
        keys = [one for one in node.keys if isinstance(one, ast.Constant) and isinstance(one.value, (str, int))]
        names = [repr(one.value) for one in keys]
        if len(keys) != len(node.keys) or len({one.value for one in keys}) != len(keys):
            return None
        return _shape("dict", names, [f"{render(source, one)}: " for one in keys], node.values, "{", "}")
    if isinstance(node, ast.ListComp):
        return _mapped(source, node)
    return _record(source, node) if isinstance(node, ast.Call) else None


def _mapped(source: Source, node: ast.ListComp) -> Shape | None:
    """The structure of ``[f(part) for part in parts]``: one place, for each of what a name holds."""
    part = node.generators[0]
    plain = isinstance(part.target, ast.Name) and isinstance(part.iter, ast.Name) and not part.ifs and not part.is_async
    if len(node.generators) > 1 or not plain:
        return None
    over = f"{render(source, part.target)} in {render(source, part.iter)}"
    return Shape(("list", f"each {over}"), ("[", f" for {over}]"), (node.elt,))


def _shape(
    kind: str, fields: Sequence[str], heads: Sequence[str], nodes: Sequence[ast.expr], start: str, end: str
) -> Shape:
    marks = [f"{'' if index == 0 else ', '}{head}" for index, head in enumerate(heads)]
    pieces = (start + marks[0], *marks[1:], end) if marks else (start + end,)
    return Shape((kind, *fields), pieces, tuple(nodes))


def _record(source: Source, node: ast.Call) -> Shape | None:
    """The structure of ``Output(logits=a, loss=b)``, when `Output` only keeps its arguments."""
    if not isinstance(node.func, ast.Name) or any(one.arg is None for one in node.keywords):
        return None
    names = fields_of(source, node.func)
    if names is None or any(isinstance(one, ast.Starred) for one in node.args) or len(node.args) > len(names):
        return None
    given = [*names[: len(node.args)], *(one.arg for one in node.keywords if one.arg is not None)]
    heads = [*([""] * len(node.args)), *(f"{one.arg}=" for one in node.keywords)]
    nodes = [*node.args, *(one.value for one in node.keywords)]
    if not nodes or len(set(given)) != len(given) or not set(given) <= set(names):
        return None
    return _shape(node.func.id, given, heads, nodes, f"{node.func.id}(", ")")


def fields_of(source: Source, name: ast.Name) -> list[str] | None:
    """The fields of a dataclass or named tuple of the file that runs nothing when it is made; None for anything else."""
    made = [one for one in source.tree.body if name.id in assigned(one)]
    function = source.function(name)
    if len(made) != 1 or not isinstance(made[0], ast.ClassDef):
        return None
    while function is not None:
        if name.id in parameters(function) or any(name.id in assigned(one) for one in function.body):
            return None
        function = source.function(function)
    found = made[0]
    marks = [one.func if isinstance(one, ast.Call) else one for one in found.decorator_list]
    plain = bool(marks) and not found.bases and all(dotted(source, one) == "dataclasses.dataclass" for one in marks)
    named = not marks and [dotted(source, one) for one in found.bases] == ["typing.NamedTuple"]
    inside = {one.name for one in found.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}
    if not (plain or named) or found.keywords or inside & _METHODS_THAT_ACT:
        return None
    lines = [one for one in found.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    if any("InitVar" in ast.unparse(one.annotation) or "ClassVar" in ast.unparse(one.annotation) for one in lines):
        return None
    if any(isinstance(one.value, ast.Call) for one in lines):  # field(init=False), field(kw_only=True)
        return None
    return [one.target.id for one in lines if isinstance(one.target, ast.Name)]


def tree_of(source: Source, node: ast.expr, value_of: Callable[[ast.expr], Value]) -> Tree | None:
    """An expression as a tree of values, each made by `value_of`; None when it makes no container."""
    shape = shape_of(source, node)
    if shape is None:
        return None
    return Tree(shape.fields, shape.pieces, tuple(value_of(one) for one in shape.nodes))


def ordered_as(tree: Tree, fields: tuple[str, ...]) -> Tree | None:
    """The tree with its places in another's order, which only a call by keywords leaves open; None for another structure."""
    if tree.fields == fields:
        return tree
    record = tree.fields[0] not in ("list", "tuple", "dict")
    if not record or tree.fields[0] != fields[0] or sorted(tree.fields) != sorted(fields):
        return None
    places = [tree.fields.index(one, 1) - 1 for one in fields[1:]]
    return Tree(fields, tree.pieces, tuple(tree.parts[place] for place in places))


def opened(source: Source, name: str, like: Tree, before: ast.stmt) -> Tree | None:
    """What a name holds as a tree like another; None where it may hold something else, or a list that others may change.

    Every binding of the name in the function must make that structure, and a container that can be changed must only be read.
    """
    function = source.function(before)
    if function is None or not name.isidentifier() or name in parameters(function):
        return None
    each = over_each(like)
    if each and each[1] != name:
        return None
    for one in walk(function):
        if isinstance(one, (ast.Global, ast.Nonlocal)) and name in one.names:
            return None
        if isinstance(one, ast.stmt) and not hasattr(one, "body") and name in assigned(one):
            plain = isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
            shape = shape_of(source, one.value) if plain and isinstance(one, ast.Assign) else None
            if shape is None or not (shape.fields == like.fields or (each and shape.fields[0] == "list")):
                return None
            if each and any(isinstance(part, ast.Constant) for part in shape.nodes):
                return None
        elif isinstance(one, (ast.For, ast.comprehension)) and name in assigned(one.target):
            return None
        elif isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load):
            kept = _only_reads(source, one) or (each and _is_appended_to(source, one))
            if like.fields[0] != "tuple" and not kept:
                return None
    if last_value(source, name, before) is None and not any(name in loaded(one) for one in source.ancestors(before)):
        return None
    if each:
        return Tree(like.fields, like.pieces, (Old(each[0]),))
    return Tree(like.fields, like.pieces, tuple(_part(name, like.fields, at) for at in range(len(like.parts))))


def over_each(tree: Tree) -> tuple[str, str] | None:
    """The variable of a comprehension and the list that it goes through; None for a container that is no comprehension."""
    if tree.fields[0] != "list" or len(tree.fields) != 2 or not tree.fields[1].startswith("each "):
        return None
    variable, _, over = tree.fields[1].removeprefix("each ").partition(" in ")
    return variable, over


def held_item(source: Source, element: ast.Subscript, before: ast.stmt) -> ast.expr | None:
    """What a display put in the place of an element like ``out["y"]``, of a name that nothing else can take it from."""
    name, index, function = element.value, element.slice, source.function(before)
    if not (isinstance(name, ast.Name) and isinstance(index, ast.Constant)) or function is None:
        return None
    made = last_value(source, name.id, before)
    shape = shape_of(source, made) if made is not None else None
    if shape is None or shape.fields[0] not in ("list", "dict") or repr(index.value) not in shape.fields[1:]:
        return None
    for one in walk(function):
        if not (isinstance(one, ast.Name) and one.id == name.id):
            continue
        parent = source.parents.get(one)
        stored = isinstance(parent, ast.Subscript) and parent.value is one and isinstance(parent.ctx, ast.Store)
        bound = isinstance(one.ctx, ast.Store) and isinstance(parent, ast.Assign) and parent.value is made
        if not (stored or bound or (isinstance(one.ctx, ast.Load) and _only_reads(source, one))):
            return None
    return shape.nodes[shape.fields.index(repr(index.value), 1) - 1]


def _part(name: str, fields: tuple[str, ...], at: int) -> Old:
    index = fields[at + 1]
    return Old(f"{name}[{index}]" if fields[0] in ("list", "tuple", "dict") else f"{name}.{index}")


def _is_appended_to(source: Source, name: ast.Name) -> bool:
    """Whether a use of a name only puts something more into its list."""
    parent = source.parents.get(name)
    call = source.parents.get(parent) if parent is not None else None
    return (
        isinstance(parent, ast.Attribute)
        and parent.attr in ("append", "extend", "insert")
        and isinstance(call, ast.Call)
        and call.func is parent
    )


def _only_reads(source: Source, name: ast.Name) -> bool:
    """Whether a use of a name only looks at what the container holds, or hands it to the caller."""
    parent = source.parents.get(name)
    if isinstance(parent, (ast.Subscript, ast.Attribute)) and isinstance(parent.ctx, ast.Load):
        holder = source.parents.get(parent)
        return not (isinstance(parent, ast.Attribute) and isinstance(holder, ast.Call) and holder.func is parent)
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is name
    if isinstance(parent, ast.Assign):
        return isinstance(parent.targets[0], (ast.Tuple, ast.List))
    if isinstance(parent, ast.Call) and name in parent.args:
        called = dotted(source, parent.func) or ""
        return (called.startswith("torch.") and called.count(".") == 1) or any(
            is_builtin(source, parent.func, one) for one in _READING
        )
    return isinstance(parent, (ast.Return, ast.Starred))


def outer_test(value: Value) -> Test | None:
    """The condition that chooses a value, or all that stands in a container."""
    if isinstance(value, Tree):
        return next((test for part in value.parts if (test := outer_test(part)) is not None), None)
    return value.test if isinstance(value, Choice) else None


def leaves(value: Value) -> list[Value]:
    """What stands in the places of a value, whatever chooses between them."""
    if isinstance(value, Tree):
        return [leaf for part in value.parts for leaf in leaves(part)]
    if isinstance(value, Choice):
        return [*leaves(value.then), *leaves(value.other)]
    return [value]
