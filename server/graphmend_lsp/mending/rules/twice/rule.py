"""A tensor that an autograd function is given twice: the second time it is given a view of it.

What it does
------------
``Attend.apply(mask, mask, x)`` becomes ``Attend.apply(mask, mask.view_as(mask), x)``. A view has the same elements, strides and
memory, and its gradient is added to that of the tensor, as the gradient for the second parameter was.

Why it costs
------------
Dynamo traces ``apply`` of a `torch.autograd.Function` as one operator, each of whose inputs must be another tensor; at
one that is given twice it ends the graph, calls Python, and starts again.

Safety
------
The ``forward`` of the function is read: what it does with the parameters must not tell a tensor from a view of it. It may
compute with them, ask for their sizes and dtypes, and save them for the backward pass.

When it is refused
------------------
When the function is not a class of the file; when its ``forward`` hands such a parameter to what is not known as an operator,
compares it by ``is``, reads another attribute of it, changes it in place, binds it to a name or returns it; when the
argument is more than a name or an attribute, or is not known to be a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from graphmend_lsp.mending.facts.bindings import operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.rules.twice import RULE
from graphmend_lsp.mending.rules.twice.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_ASKED = frozenset(("shape", "dtype", "device", "ndim", "is_cuda", "itemsize", "nbytes"))
"""Attributes that are those of the tensor in each view of it that has its sizes."""
_SAVES = frozenset(("save_for_backward", "save_for_forward"))
_OF_THE_FRAME = frozenset(("locals", "vars", "dir", "eval", "exec"))


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a call that is given a tensor twice; empty when the break is at no such call."""
    source = place.source
    call = place.node.value if isinstance(place.node, (ast.Expr, ast.Assign, ast.Return)) else place.node
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "apply"):
        return ()
    again = _again(source, call)
    if call.keywords or any(isinstance(one, ast.Starred) for one in call.args) or not again:
        raise Refused("The text does not show which tensor is given twice.")
    forward = _forward(source, call.func.value)
    for one in again:
        if Kinds(source).of(one) != "tensor":
            raise Refused(f"`{source.code(one)}` is not known to be a tensor.")
    texts = {source.code(one) for one in again}
    for name in _parameters(forward, [source.code(one) in texts for one in call.args]):
        _refuse_uses(source, forward, name)
    return (
        Mend(
            rule=RULE.name,
            title=f"Give `{source.code(call.func)}` a view the second time",
            path=source.path,
            span=source.span(call),
            edits=tuple(edits.rewrite(source, one, "{0}.view_as({0})".format(source.code(one))) for one in again),
        ),
    )


def _again(source: Source, call: ast.Call) -> list[ast.expr]:
    """The arguments that stand in front of themselves already."""
    seen: set[str] = set()
    found: list[ast.expr] = []
    for one in call.args:
        root: ast.expr = one
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and Kinds(source).of(one) != "python":
            found += [one] if source.code(one) in seen else []
            seen.add(source.code(one))
    return found


def _forward(source: Source, of: ast.expr) -> ast.FunctionDef:
    """The ``forward`` of an autograd function of the file."""
    text = source.code(of)
    made = [one for one in source.tree.body if text in assigned(one) or getattr(one, "name", "") == text]
    owner = made[0] if len(made) == 1 else None
    if not isinstance(owner, ast.ClassDef) or owner.decorator_list or owner.keywords or len(owner.bases) != 1:
        raise Refused(f"`{text}` is no class of this file; what it does with the tensor is not known.")
    if dotted(source, owner.bases[0]) not in ("torch.autograd.Function", "torch.autograd.function.Function"):
        raise Refused(f"`{text}` is not derived from `torch.autograd.Function` alone.")
    found = [one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "forward"]
    names = {name for one in owner.body for name in (*assigned(one), getattr(one, "name", ""))}
    if len(found) != 1 or not {"setup_context", "apply"}.isdisjoint(names):
        raise Refused(f"`{text}` has no single `forward` that is given the tensors.")
    return found[0]


def _parameters(forward: ast.FunctionDef, twice: Sequence[bool]) -> list[str]:
    """The parameters that get a tensor which another one gets, too."""
    arguments = forward.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][1:]  # the first is the context
    if arguments.vararg is not None or len(names) < len(twice):
        raise Refused("`forward` takes its arguments together; what it does with each is not known.")
    return [name for name, is_twice in zip(names, twice, strict=False) if is_twice]


def _refuse_uses(source: Source, forward: ast.FunctionDef, name: str) -> None:
    """Refuse what could tell a tensor from a view of it, or does more with it than reading.

    Raises:
        Refused: with the first such use.
    """
    if name in {one for statement in forward.body for one in assigned(statement)}:
        raise Refused(f"`{name}` gets another value in `forward`; it may be changed or returned.")
    if any(isinstance(one, ast.Name) and one.id in _OF_THE_FRAME for one in walk(forward)):
        raise Refused("`forward` looks at its own names.")
    context = (*forward.args.posonlyargs, *forward.args.args)[0].arg
    for use in _uses(forward, name):
        if not _is_read(source, use, context):
            statement = source.statement(use) or forward
            raise Refused(f"`{first_line(source, statement)}` may tell `{name}` from a view of it, or change it.")


def _uses(forward: ast.FunctionDef, name: str) -> Iterator[ast.Name]:
    for statement in forward.body:
        yield from (one for one in walk(statement) if isinstance(one, ast.Name) and one.id == name)


def _is_read(source: Source, use: ast.Name, context: str) -> bool:
    """Whether a parameter stands where an operator computes something new of it, or where it is saved."""
    parent = source.parents[use]
    if not isinstance(use.ctx, ast.Load):
        return False
    if isinstance(parent, ast.Compare):
        return not any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in parent.ops)
    if isinstance(parent, ast.BinOp):
        return parent.left is use or not isinstance(parent.op, ast.Mod)  # a text would show the history of gradients
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.UAdd)  # which gives the tensor itself
    if isinstance(parent, ast.Attribute):
        call = source.parents.get(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            return _is_new(source, call)
        return parent.attr in _ASKED
    if isinstance(parent, ast.Subscript) and parent.value is use:
        around = source.parents.get(parent)
        return isinstance(parent.ctx, ast.Load) and isinstance(around, ast.BinOp)
    if isinstance(parent, ast.Call):
        saves = {f"{context}.{one}" for one in _SAVES}
        return _is_new(source, parent) or source.code(parent.func) in saves
    return False


def _is_new(source: Source, call: ast.Call) -> bool:
    """Whether a call is an operator that reads what it is given, and gives a number, a size or a tensor of its own."""
    made = operator_called(source, call)
    return made is not None and not made.effect and (made.is_new or not made.is_tensor)
