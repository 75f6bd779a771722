"""An index that is a tensor: ``x[i]`` as ``x[i.reshape(1)].squeeze(0)``, which takes no number out of the graph.

The form keeps negative indices and the error for one out of range. It copies where ``x[i]`` is a view; who asks must know
that nobody writes to the result. No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


@dataclass(frozen=True, slots=True)
class Picked:
    """A subscript with a tensor for an index, taken apart: `before` and `behind` are the texts around the index's own.

    `number`: an element of a Python list of numbers is picked, so that the result was a Python number.
    """

    subscript: ast.Subscript
    base: str
    before: tuple[str, ...]
    behind: tuple[str, ...]
    dimension: int
    number: bool = False
    imported: TextEdit | None = None

    def text(self, index: str) -> str:
        """The subscript with the text of a 0-d integer tensor in its place."""
        parts = ", ".join((*self.before, f"{operand(index)}.reshape(1)", *self.behind))
        whole = f"{self.base}[{parts}]"
        return whole if isinstance(self.subscript.ctx, ast.Store) else f"{whole}.squeeze({self.dimension})"


def picked(source: Source, kinds: Kinds, node: ast.expr) -> Picked | None:
    """The subscript that `node` is an index of; None when it is none of a tensor or of a known list.

    Raises:
        Refused: when the subscript mixes indices in a way that has no such form, or somebody writes to the view.
    """
    parent = source.parents.get(node)
    subscript = source.parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    if not isinstance(subscript, ast.Subscript) or (parent is subscript and subscript.slice is not node):
        return None
    if isinstance(parent, ast.Tuple) and subscript.slice is not parent:
        return None
    if isinstance(subscript.ctx, ast.Del):
        return None
    if kinds.of(subscript.value) != "tensor":
        return _of_list(source, kinds, subscript) if parent is subscript else None
    if isinstance(subscript.ctx, ast.Load):
        _refuse_writers(source, subscript)
    entries = parent.elts if isinstance(parent, ast.Tuple) else [node]
    return _of_tensor(source, subscript, entries, node)


def _of_tensor(source: Source, subscript: ast.Subscript, entries: list[ast.expr], node: ast.expr) -> Picked:
    at = entries.index(node)
    texts = [render(source, one) for one in entries]
    base = render(source, subscript.value)
    before, behind = entries[:at], entries[at + 1 :]
    if all(isinstance(one, ast.Slice) for one in (*before, *behind)):
        return Picked(subscript, base, tuple(texts[:at]), tuple(texts[at + 1 :]), at)
    dots = len(before) >= 1 and isinstance(before[0], ast.Constant) and before[0].value is Ellipsis
    if dots and all(isinstance(one, ast.Slice) for one in (*before[1:], *behind)):
        return Picked(subscript, base, tuple(texts[:at]), tuple(texts[at + 1 :]), -1 - len(behind))
    static = all(isinstance(one, ast.Slice) or _is_static(one) for one in (*before, *behind))
    if static and isinstance(subscript.ctx, ast.Load):
        first = f"{base}[{', '.join((*texts[:at], ':', *texts[at + 1 :]))}]"
        kept = sum(isinstance(one, ast.Slice) for one in before)
        return Picked(subscript, first, (":",) * kept, (), kept)
    if static and not any(isinstance(one, ast.Slice) for one in (*before, *behind)):
        return Picked(subscript, base, tuple(texts[:at]), tuple(texts[at + 1 :]), 0)
    raise Refused(
        f"Line {subscript.lineno}: `{render(source, subscript)}` mixes indices; take it apart into two steps."
    )


def _is_static(node: ast.expr) -> bool:
    one = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(one, ast.Constant) and isinstance(one.value, int) and not isinstance(one.value, bool)


def _of_list(source: Source, kinds: Kinds, subscript: ast.Subscript) -> Picked | None:
    """An element of a list or tuple that is written out: of numbers, which become a tensor, or of tensors, stacked."""
    if not isinstance(subscript.ctx, ast.Load):
        return None
    shown = _shown(source, subscript.value)
    if shown is None or not shown.elts:
        return None
    text = render(source, subscript.value)
    if all(isinstance(one, ast.Constant) and type(one.value) is type(shown.elts[0].value) for one in shown.elts):  # type: ignore[attr-defined]
        value = shown.elts[0].value  # type: ignore[attr-defined]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            function, edit = spell(source, "torch.tensor", subscript)
            return Picked(subscript, f"{function}({text})", (), (), 0, True, edit)
        return None
    if all(kinds.of(one) == "tensor" for one in shown.elts):
        function, edit = spell(source, "torch.stack", subscript)
        return Picked(subscript, f"{function}({text})", (), (), 0, False, edit)
    return None


def _shown(source: Source, node: ast.expr) -> ast.List | ast.Tuple | None:
    """The list or tuple display that an expression is or a name is bound to, once and for all."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node
    if not isinstance(node, ast.Name):
        return None
    function = source.function(node)
    scope: ast.AST = source.tree
    if function is not None and node.id in parameters(function):
        return None
    found: list[ast.expr] = []
    for one in walk(scope):
        if isinstance(one, ast.Name) and one.id == node.id:
            parent = source.parents.get(one)
            if isinstance(one.ctx, ast.Load):
                if isinstance(parent, ast.Attribute) or (
                    isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)
                ):
                    return None
            elif isinstance(parent, ast.Assign) and parent.targets == [one]:
                found.append(parent.value)
            else:
                return None
    return found[0] if len(found) == 1 and isinstance(found[0], (ast.List, ast.Tuple)) else None


def _refuse_writers(source: Source, subscript: ast.Subscript) -> None:
    """Refuse a view that is written to, or whose tensor is: the copy would not follow."""
    function = source.function(subscript)
    if function is None:
        return
    text = render(source, subscript)
    statement = source.parents.get(subscript)
    names: set[str] = set()
    if isinstance(statement, (ast.Assign, ast.NamedExpr)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = {one.id for one in targets if isinstance(one, ast.Name)}
        if len(names) != len(targets):
            raise Refused(
                f"Line {subscript.lineno}: `{text}` is a view of the tensor and is stored where others may change it."
            )
        base = subscript.value
        while isinstance(base, (ast.Subscript, ast.Attribute)):
            base = base.value
        names |= {base.id} - {"self"} if isinstance(base, ast.Name) else set()
    if isinstance(statement, (ast.Return, ast.Tuple)) and not _is_own(source, subscript):
        raise Refused(
            f"Line {subscript.lineno}: `{text}` is a view of the tensor and is returned; who gets it may change it."
        )
    if isinstance(statement, ast.Attribute) and statement.attr.endswith("_") and not statement.attr.endswith("__"):
        raise Refused(f"Line {subscript.lineno}: `{text}` is a view of the tensor and is changed in place.")
    if isinstance(statement, ast.Subscript) and isinstance(statement.ctx, ast.Store):
        raise Refused(f"Line {subscript.lineno}: `{text}` is a view of the tensor and is changed in place.")
    for one in walk(function):
        if changed := changed_by(one) & names:
            name = min(changed)
            raise Refused(f"Line {one.lineno}: `{name}` is changed in place, and `{text}` is a view.")  # type: ignore[attr-defined]


def _is_own(source: Source, subscript: ast.Subscript) -> bool:
    """Whether the tensor was made here, so that nobody else holds the memory of a view."""
    base = subscript.value
    scalars = Scalars(source, Kinds(source))
    if isinstance(base, ast.Name):
        values = scalars.values(base)
        return values is not None and all(scalars.is_fresh(value) for value in values)
    return scalars.is_fresh(base)
