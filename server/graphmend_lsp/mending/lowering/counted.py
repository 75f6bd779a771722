"""How many elements a mask chooses, kept in the graph: ``len(m.nonzero())``, ``x[m].numel()``, ``idx.shape[0] > 0``.

The indices themselves have no fixed number; only what asks for their number is mended here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.lowering.masked import Masked
from graphmend_lsp.mending.lowering.number_flow import Flow
from graphmend_lsp.mending.lowering.number_text import mend, written
from graphmend_lsp.mending.lowering.selected import Chosen
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

NAME = "mask"
_TITLE = "Count under the mask"


@dataclass(frozen=True, slots=True)
class Length:
    """An expression that is a number of chosen elements: all of it, the mask's text, and whether it counts rows."""

    node: ast.expr
    mask: ast.expr
    boolean: bool
    first: Chosen | None = None

    def mend(self, request: Request, source: Source, kinds: Kinds) -> Mend:
        """The mend that keeps the number as a tensor.

        Raises:
            Refused: where only a Python number would do.
        """
        if self.first is not None and not Masked(source, kinds, self.first, "torch.where").is_full():
            raise Refused(f"`{render(source, self.first.tensor)}` may have more dimensions than the mask.")
        flow = Flow(source, kinds)
        _count(source, flow, self.node, self.mask, self.boolean)
        return mend(NAME, _TITLE, request, source, flow, written(source, flow), self.node)


def length_of(source: Source, first: Chosen) -> Length | None:
    """The number of chosen elements that is asked for around them: ``len(x[m])``, ``x[m].numel()``, ``x[m].shape[0]``."""
    node = _size(source, first.node)
    if node is None:
        return None
    rows = not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "nelement")
    )
    return Length(node, first.mask, True, None if rows or first.broadcasts else first)


def counted(request: Request, source: Source, kinds: Kinds, node: ast.AST) -> tuple[Mend | Declined, ...]:
    """The mend of ``m.nonzero()`` or ``torch.where(m)`` of which only the number of rows is used.

    Raises:
        Refused: when the indices themselves are used.
    """
    found = indices(source, node)
    if found is None:
        return ()
    listed, mask, pair = found
    boolean = kinds.is_bool(mask)
    parent = source.parents.get(listed)
    if pair and isinstance(parent, ast.Subscript) and parent.value is listed and isinstance(parent.slice, ast.Constant):
        listed, parent = parent, source.parents.get(parent)
    elif pair:
        raise Refused(f"`{render(source, listed)}` gives indices, as many as the mask chooses; use the mask itself.")
    while isinstance(parent, ast.Attribute) and parent.attr in ("squeeze", "flatten", "view", "reshape"):
        call = source.parents.get(parent)
        if not isinstance(call, ast.Call):
            break
        raise Refused(f"`{render(source, call)}` is reshaped, which depends on how many elements the mask chooses.")
    size = _size(source, listed)
    if size is not None:
        return (Length(size, mask, boolean).mend(request, source, kinds),)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return (_named(request, source, kinds, parent, mask, boolean),)
    raise Refused(f"`{render(source, listed)}` gives indices, as many as the mask chooses; use the mask itself.")


def _named(
    request: Request, source: Source, kinds: Kinds, statement: ast.Assign, mask: ast.expr, boolean: bool
) -> Mend:
    """``idx = m.nonzero()`` of which only the length is used: the name holds the mask."""
    name = statement.targets[0]
    function = source.function(statement)
    assert isinstance(name, ast.Name)
    if function is None or name.id in parameters(function) or name.id not in local_names(function):
        raise Refused(f"`{name.id}` is not a local name.")
    sizes: list[ast.expr] = []
    for one in walk(function):
        if not isinstance(one, ast.Name) or one.id != name.id or one is name:
            continue
        size = _size(source, one) if isinstance(one.ctx, ast.Load) else None
        if size is None:
            raise Refused(
                f"Line {one.lineno}: `{name.id}` holds indices, as many as the mask chooses, and is used for more than their "
                "number; use the mask itself."
            )
        sizes.append(size)
    flow = Flow(source, kinds)
    spots: list[TextEdit] = [edits.rewrite(source, statement.value, _boolean(source, mask, boolean))]
    for size in sizes:
        _count(source, flow, size, name, True)
    return mend(NAME, _TITLE, request, source, flow, [*spots, *written(source, flow)], statement.value)


def _count(source: Source, flow: Flow, size: ast.expr, mask: ast.expr, boolean: bool) -> None:
    """Let a number of rows be the mask's sum, and a test for none its ``any``; the number is followed."""
    text = operand(_boolean(source, mask, boolean))
    parent = source.parents.get(size)
    empty = _emptiness(parent, size)
    if empty is not None and isinstance(parent, ast.Compare):
        flow.exchange[parent] = f"{text}.any()" if empty else f"~{text}.any()"
        flow.follow(parent)
    elif isinstance(parent, (ast.If, ast.IfExp)) and parent.test is size:
        flow.exchange[size] = f"{text}.any()"
        flow.tests.append(size)
    else:
        flow.exchange[size] = f"{text}.sum()"
        flow.follow(size)


def _boolean(source: Source, mask: ast.expr, boolean: bool) -> str:
    text = render(source, mask)
    return text if boolean else f"{operand(text)} != 0"


def _emptiness(parent: ast.AST | None, size: ast.expr) -> bool | None:
    """Whether a comparison asks for some (True) or none (False); None for any other."""
    if not (isinstance(parent, ast.Compare) and parent.left is size and len(parent.ops) == 1):
        return None
    bound = parent.comparators[0]
    value = bound.value if isinstance(bound, ast.Constant) else None
    op = parent.ops[0]
    if (value == 0 and isinstance(op, (ast.Gt, ast.NotEq))) or (value == 1 and isinstance(op, ast.GtE)):
        return True
    if (value == 0 and isinstance(op, (ast.Eq, ast.LtE))) or (value == 1 and isinstance(op, ast.Lt)):
        return False
    return None


def _size(source: Source, node: ast.expr) -> ast.expr | None:
    """The expression around a list of chosen things that is their number."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Call) and parent.args == [node] and is_builtin(source, parent.func, "len"):
        return parent
    if not isinstance(parent, ast.Attribute):
        return None
    around = source.parents.get(parent)
    if parent.attr == "shape" and isinstance(around, ast.Subscript) and isinstance(around.slice, ast.Constant):
        return around if around.slice.value == 0 else None
    if isinstance(around, ast.Call) and around.func is parent and not around.keywords:
        if parent.attr == "size" and len(around.args) == 1 and isinstance(around.args[0], ast.Constant):
            return around if around.args[0].value == 0 else None
        if parent.attr in ("numel", "nelement") and not around.args:
            above = source.parents.get(around)
            listed = chosen_elements(node)
            return around if listed or _emptiness(above, around) is not None else None
    return None


def chosen_elements(node: ast.expr) -> bool:
    """Whether the node is elements and not indices, of which there are as many as dimensions for each."""
    return isinstance(node, (ast.Subscript, ast.Call)) and not _is_nonzero(node)


def _is_nonzero(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("nonzero", "where", "argwhere")


def indices(source: Source, node: ast.AST) -> tuple[ast.expr, ast.expr, bool] | None:
    """The call that lists the indices of a mask, the mask, and whether it gives one list for each dimension."""
    if not isinstance(node, ast.Call):
        return None
    name = dotted(source, node.func)
    tupled = any(one.arg == "as_tuple" and getattr(one.value, "value", None) is True for one in node.keywords)
    if name in ("torch.nonzero", "torch.argwhere") and len(node.args) == 1:
        return node, node.args[0], tupled
    if name == "torch.where" and len(node.args) == 1 and not node.keywords:
        return node, node.args[0], True
    if (
        name is None
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("nonzero", "argwhere")
        and not node.args
    ):
        return node, node.func.value, tupled
    return None
