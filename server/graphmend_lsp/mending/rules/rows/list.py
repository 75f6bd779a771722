"""Which rows are chosen: a list of row numbers made from a mask, a pair of such lists, or the mask itself as an index.

Reading only; what is done with the rows is followed elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from graphmend_lsp.mending.lowering.counted import indices
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

_FLATTENING = frozenset(("flatten", "view", "reshape", "ravel"))


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen rows. `statement` binds the names, or is the only one that has the mask as an index.

    `rows` is the name of the list of row numbers, or of the mask ("" for a mask without a name); `others` the name of the
    second list of a pair, and `axis` which of the two lists the rows are: 0, 1, or None for a single list. `mask` is
    the mask; `lists`: whether the name holds row numbers.
    """

    statement: ast.stmt
    mask: ast.expr
    rows: str = ""
    others: str = ""
    axis: int | None = None
    lists: bool = True

    def is_index(self, node: ast.AST) -> bool:
        """Whether a node stands for the rows in an index."""
        if self.rows:
            return isinstance(node, ast.Name) and node.id == self.rows
        return ast.dump(node) == ast.dump(self.mask)

    def mentions(self, node: ast.AST) -> bool:
        """Whether a node reads the list of rows or the other one of the pair; of a mask, whether it is an index there."""
        if self.lists:
            names_ = {self.rows, self.others}
            return any(isinstance(one, ast.Name) and one.id in names_ for one in walk(node))
        return self.is_index(node) or any(
            isinstance(one, ast.Subscript) and self.is_index(one.slice) for one in walk(node)
        )

    def uses(self, source: Source) -> list[ast.stmt]:
        """The statements in which the rows may be used."""
        if not self.rows:
            return [self.statement]
        function = source.function(self.statement)
        if not self.lists and function is not None and self.rows in parameters(function):
            return function.body
        return source.after(self.statement)


def selections(source: Source, node: ast.AST) -> list[Selection]:
    """The rows that are chosen at a break; of a pair of lists both readings, the likelier first. Empty for anything else.

    Raises:
        Refused: for lists that have no dimension when one row is chosen, and for names that are bound elsewhere too.
    """
    found = indices(source, node)
    if found is not None:
        return _listed(source, *found)
    statement = source.statement(node)
    if statement is None:
        return []
    subscript = _subscript(node)
    if subscript is None:
        return []
    mask = subscript.slice
    if isinstance(mask, ast.Name):
        bound = _binding(source, mask)
        return [Selection(bound, mask, mask.id, lists=False)] if bound is not None else []
    if isinstance(mask, (ast.Compare, ast.UnaryOp, ast.BinOp)) and isinstance(statement, ast.Assign):
        return [Selection(statement, mask, lists=False)]
    return []


def again(source: Source, old: Selection, function: str) -> Selection | None:
    """The same selection in another text of the file."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and getattr(source.function(node), "name", "") == function:
            for one in selections(source, node) if indices(source, node) is not None else []:
                if (one.rows, one.others, one.axis) == (old.rows, old.others, old.axis):
                    return one
    return None


def names(function: Function, name: str) -> Iterator[ast.Name]:
    """Every place of a name in a function."""
    return (one for one in walk(function) if isinstance(one, ast.Name) and one.id == name)


def _listed(source: Source, call: ast.expr, mask: ast.expr, pair: bool) -> list[Selection]:
    parent = source.parents.get(call)
    if pair:
        if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value == 0:
            return _single(source, parent, mask)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Tuple):
            targets = [one.id for one in parent.targets[0].elts if isinstance(one, ast.Name)]
            if len(targets) != len(parent.targets[0].elts) or not _are_local(source, parent, targets):
                return []
            if len(targets) == 1:
                return [Selection(parent, mask, targets[0])]
            if len(targets) == 2:
                first, second = targets
                readings = [
                    Selection(parent, mask, second, first, axis=1),
                    Selection(parent, mask, first, second, axis=0),
                ]
                return readings[::-1] if _is_alone_in_index(source, parent, first) else readings
        return []
    if isinstance(parent, ast.Subscript) and _is_first_column(parent.slice):
        return _single(source, parent, mask)
    if isinstance(parent, ast.Attribute):
        reshaped = source.parents.get(parent)
        if not (isinstance(reshaped, ast.Call) and reshaped.func is parent):
            return []
        if parent.attr == "squeeze":
            if not reshaped.args and not reshaped.keywords:
                raise Refused(
                    f"`{render(source, reshaped)}` has no dimension when one row is chosen; write `.squeeze(1)`."
                )
            return _single(source, reshaped, mask)
        return _single(source, reshaped, mask) if parent.attr in _FLATTENING else []
    return []


def _is_alone_in_index(source: Source, statement: ast.stmt, name: str) -> bool:
    """Whether a name is all of an index somewhere in its function."""
    function = source.function(statement)
    places = [source.parents.get(one) for one in names(function, name)] if function is not None else []
    return any(isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) for one in places)


def _single(source: Source, listed: ast.expr, mask: ast.expr) -> list[Selection]:
    statement = source.parents.get(listed)
    if not isinstance(statement, ast.Assign) or [type(one) for one in statement.targets] != [ast.Name]:
        return []
    name = statement.targets[0].id  # type: ignore[attr-defined]
    return [Selection(statement, mask, name)] if _are_local(source, statement, [name]) else []


def _is_first_column(index: ast.expr) -> bool:
    """Whether an index is ``[:, 0]``."""
    if not isinstance(index, ast.Tuple) or len(index.elts) != 2:
        return False
    rows, column = index.elts
    whole = isinstance(rows, ast.Slice) and rows.lower is None and rows.upper is None and rows.step is None
    return whole and isinstance(column, ast.Constant) and column.value == 0


def _are_local(source: Source, statement: ast.stmt, wanted: list[str]) -> bool:
    """Whether names are local and bound by one statement only (``_`` is nobody's).

    Raises:
        Refused: when one is bound elsewhere too.
    """
    function = source.function(statement)
    if function is None:
        return False
    for name in wanted:
        if name == "_":
            continue
        if name in parameters(function) or name not in local_names(function):
            return False
        if any(
            not isinstance(one.ctx, ast.Load) and source.statement(one) is not statement
            for one in names(function, name)
        ):
            raise Refused(f"`{name}` is bound in more than one place.")
    return True


def _subscript(node: ast.AST) -> ast.Subscript | None:
    """The subscript at a break: itself, what a statement stores to, or what it reads by the same index."""
    if isinstance(node, ast.Subscript):
        return node
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return target if isinstance(target, ast.Subscript) else None
    return None


def _binding(source: Source, name: ast.Name) -> ast.stmt | None:
    """The statement that binds a mask's name, when it is the only one; of a parameter the function's first."""
    function = source.function(name)
    if function is None:
        return None
    bound = [one for one in names(function, name.id) if not isinstance(one.ctx, ast.Load)]
    if name.id in parameters(function) and not bound:
        return function.body[0]
    statement = source.statement(bound[0]) if len(bound) == 1 else None
    return statement if isinstance(statement, ast.Assign) and bound[0] in statement.targets else None
