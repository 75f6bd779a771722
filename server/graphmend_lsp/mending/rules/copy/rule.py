"""Copies of tensors: `copy.deepcopy` becomes the tensor's own copy.

What it does
------------
``copy.deepcopy(t)`` of a tensor is written as operations, ``t.detach().clone()``.
A tensor that says itself that it has no gradient (``t.detach()``, ``t.data``) is only cloned.

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
For containers, for parameters and buffers of ``self``, and where ``memo`` is passed.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.rules.copy import RULE
from graphmend_lsp.mending.rules.copy.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
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
            changes=() if base == operand(text) else (f"The copy of `{text}` never asks for a gradient.",),
        ),
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
