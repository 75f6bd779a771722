"""Copies of tensors: `copy.deepcopy` becomes the tensor's own copy.

What it does
------------
``copy.deepcopy(t)`` of a tensor is written as operations, ``t.detach().clone()``.
A tensor that says itself that it has no gradient (``t.detach()``, ``t.data``) is only cloned. Of a list, tuple or dictionary that
is written out in the call, each tensor is.

Why it costs
------------
Dynamo does not trace the copy protocol of tensors: it ends the graph there, copies in Python and starts again.

Safety
------
`copy.deepcopy` refuses a tensor with a history, and gives a leaf that asks for gradients when the tensor is such a leaf. The
copy made by the mend has no gradient; the verdict compares gradients, so that this mend is only offered where they are
the same. A parameter is not copied this way: the copy would be no parameter.

When it is refused
------------------
For other containers, for those whose tensors may share their memory, for parameters and buffers of ``self``, and where
``memo`` is passed.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import last_value, makes_tensor
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.rules.copy import RULE
from graphmend_lsp.mending.rules.copy.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a copied tensor; empty when the break is no such copy."""
    source = place.source
    node = place.node
    name = dotted(source, node.func) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or name != "copy.deepcopy":
        return ()
    if len(node.args) != 1 or node.keywords:
        return (Declined(RULE.name, f"`{render(source, node)}` passes a memo; copy the tensors one by one."),)
    tensor = node.args[0]
    if isinstance(tensor, (ast.List, ast.Tuple, ast.Dict)):
        return (_of_container(source, node, tensor),)
    text = render(source, tensor)
    if problem := _unfit(source, tensor):
        return (Declined(RULE.name, f"`{text}` {problem}."),)
    base = operand(text)
    if not _is_detached(source, tensor):
        base = f"{base}.detach()"
    return (
        Mend(
            rule=RULE.name,
            title="Copy with clone",
            path=source.path,
            span=source.span(node),
            edits=(edits.rewrite(source, node, f"{base}.clone()"),),
            changes=() if base == operand(text) else (f"The copy of `{text}` never requires a gradient.",),
        ),
    )


def _of_container(source: Source, node: ast.Call, container: ast.List | ast.Tuple | ast.Dict) -> Mend:
    """The mend of a container that is written out: each of its tensors is copied.

    A deep copy keeps what its tensors share. Tensors that operators made share nothing; one other may stand beside them.

    Raises:
        Refused: when something in it is not surely a tensor or a constant, or two tensors may share their memory.
    """
    held = container.values if isinstance(container, ast.Dict) else container.elts
    exchange: dict[ast.AST, str] = {}
    shared: list[str] = []
    for one in held:
        text = render(source, one)
        if isinstance(one, ast.Constant):
            continue
        if _unfit(source, one) or Kinds(source).of(one) != "tensor":
            raise Refused(f"`{text}` is not known to be a tensor; copy the tensors of the container one by one.")
        shared += [] if makes_tensor(source, one) else [text]
        exchange[one] = f"{operand(text)}.clone()" if _is_detached(source, one) else f"{operand(text)}.detach().clone()"
    if isinstance(container, ast.Dict) and not all(isinstance(one, ast.Constant) for one in container.keys):
        raise Refused(f"The keys of `{render(source, container)}` are not constants, and may be copied, too.")
    if len(shared) > 1:
        raise Refused(f"`{shared[0]}` and `{shared[1]}` may share their memory, which their copies then would, too.")
    text = render(source, container, exchange)
    told = not all(_is_detached(source, one) for one in exchange if isinstance(one, ast.expr))
    return Mend(
        rule=RULE.name,
        title="Copy each with clone",
        path=source.path,
        span=source.span(node),
        edits=(edits.rewrite(source, node, text if text[0] in "[{(" else f"({text})"),),
        changes=("The copies never require a gradient.",) if told else (),
    )


def _unfit(source: Source, node: ast.expr) -> str:
    """Why an expression is no plain tensor to copy, in words behind its text; "" when it may be."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)):
        return "is a container; copy its tensors one by one"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return "belongs to the module, and its copy may have to be a parameter or a module"
    if isinstance(node, ast.Name):
        statement = source.statement(node)
        value = last_value(source, node.id, statement) if statement is not None else None
        if value is not None and not isinstance(value, ast.Name):
            return _unfit(source, value)
    return "is a Python value" if Kinds(source).of(node) == "python" else ""


def _is_detached(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        statement = source.statement(node)
        value = last_value(source, node.id, statement) if statement is not None else None
        return value is not None and not isinstance(value, ast.Name) and _is_detached(source, value)
    if isinstance(node, ast.Attribute):
        return node.attr == "data"
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return called and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
