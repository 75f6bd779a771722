"""A branch that changes elements under its own mask alone: ``if bad.any(): y = y.masked_fill(bad, 0)``.

Where the mask chooses nothing, so does what is made of it (``bad.any(-1)``, ``bad.expand_as(y)``), and the branch gives what was
there before: its statements can run in every call, and no condition is left.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.liveness import read_after_block
from graphmend_lsp.mending.facts.operators import Operator, operator_of_function, operator_of_method
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.lowering.masked import Masked
from graphmend_lsp.mending.lowering.selected import Chosen
from graphmend_lsp.mending.syntax.branches import comments_of
from graphmend_lsp.mending.syntax.formatting import verbatim
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_ADDING = frozenset(("to_padded_tensor",))  # elements that are not the operand's
_OF_ITS_SHAPE = frozenset(("expand_as", "view_as", "reshape_as"))


def only_masked(source: Source, kinds: Kinds, target: ast.If) -> list[str] | None:
    """The statements of the branch as they are; None where they may do more than change elements of the mask.

    Raises:
        Refused: when a string of them goes over lines.
    """
    mask = _asked_for(source, target.test)
    if mask is None or target.orelse or kinds.of(mask) != "tensor" or source.code(target).startswith("elif"):
        return None
    function = source.function(target)
    if function is None or any(isinstance(one, (ast.Global, ast.Nonlocal)) for one in walk(function)):
        return None
    branch = _Branch(source, kinds, target, {mask.id}, set())
    if not branch.changes(target.body, must=True) or not branch.changed:
        return None
    notes = comments_of(source, target)
    return [line for one in target.body for line in (*notes.get(one, ()), *verbatim(source, one))]


def _asked_for(source: Source, test: ast.expr) -> ast.Name | None:
    """The mask of ``mask.any()`` or ``torch.any(mask)``."""
    if not isinstance(test, ast.Call) or test.keywords:
        return None
    if dotted(source, test.func) == "torch.any" and len(test.args) == 1:
        asked: ast.expr | None = test.args[0]
    else:
        method = test.func if isinstance(test.func, ast.Attribute) and test.func.attr == "any" else None
        asked = method.value if method is not None and not test.args else None
    return asked if isinstance(asked, ast.Name) else None


@dataclass
class _Branch:
    """The branch being read: `masks` are names of what chooses nothing where the mask does not, `changed` those of tensors."""

    source: Source
    kinds: Kinds
    target: ast.If
    masks: set[str]
    changed: set[str]

    def changes(self, block: Sequence[ast.stmt], *, must: bool) -> bool:
        """Whether statements do nothing where the mask chooses nothing; those that `must` run may bind new masks."""
        return all(self._change(one, must) for one in block)

    def _change(self, statement: ast.stmt, must: bool) -> bool:
        if isinstance(statement, ast.If):
            known = self.kinds.of(statement.test) == "python" and not hazards(self.source, statement.test)
            return known and not statement.orelse and self.changes(statement.body, must=False)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or hazards(self.source, statement.value):
            return False
        if self._chooses_nothing(statement.value):
            if target.id in self.changed or self._is_read_elsewhere(target.id):
                return False
            if target.id not in self.masks and not must:
                return False
            self.masks.add(target.id)
            return True
        return target.id not in self.masks and self._fills(target, statement.value)

    def _chooses_nothing(self, node: ast.expr) -> bool:
        """Whether an expression is a mask of the mask's elements, elsewhere or fewer."""
        if isinstance(node, ast.Name):
            return node.id in self.masks
        if not isinstance(node, ast.Call):
            return False
        found, over, _ = self._called(node)
        if found is None or over is None or found.gives != "tensor" or found.name in _ADDING:
            return False
        fewer = found.form == "reduction" and found.neutral == "False"
        return (fewer or found.form == "layout") and self._chooses_nothing(over)

    def _is_read_elsewhere(self, name: str) -> bool:
        """Whether anything but the branch, and what stands before it, may read a name."""
        function = self.source.function(self.target)
        if function is None or read_after_block(self.source, self.target, name):
            return True
        around = [one for one in self.source.ancestors(self.target) if isinstance(one, (ast.For, ast.While))]
        inner = [one for one in walk(function) if isinstance(one, _SCOPES) and one is not function]
        return bool(around) or any(
            isinstance(node, ast.Name) and node.id == name for one in inner for node in walk(one)
        )

    def _fills(self, target: ast.Name, value: ast.expr) -> bool:
        """``y = y.masked_fill(mask, v)`` with a mask of y's shape and a number, or a tensor made of one."""
        if not isinstance(value, ast.Call) or value.keywords or self.kinds.of(target) == "python":
            return False
        found, over, rest = self._called(value)
        if found is None or found.name != "masked_fill" or len(rest) != 2:
            return False
        mask, put = rest
        if not isinstance(over, ast.Name) or over.id != target.id:
            return False
        if not (self._chooses_nothing(mask) and self._has_shape_of(mask, over) and self._is_number(put)):
            return False
        self.changed.add(target.id)
        return True

    def _has_shape_of(self, mask: ast.expr, tensor: ast.Name) -> bool:
        if isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute) and mask.func.attr in _OF_ITS_SHAPE:
            return len(mask.args) == 1 and isinstance(mask.args[0], ast.Name) and mask.args[0].id == tensor.id
        shapes = Masked(self.source, self.kinds, Chosen(mask, tensor, mask, False), "")
        before = last_value(self.source, tensor.id, self.target)  # the branch binds the name anew
        root = shapes.root(before) if before is not None and tensor.id not in self.changed else None
        return root is not None and root == shapes.root(mask)

    def _is_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._is_number(node.operand)
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (bool, int, float))
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            return False
        if isinstance(node.func, ast.Name) and node.func.id == "float" and dotted(self.source, node.func) is None:
            return isinstance(node.args[0], ast.Constant)
        needs = any(one.arg == "requires_grad" or one.arg is None for one in node.keywords)
        return dotted(self.source, node.func) == "torch.tensor" and not needs and self._is_number(node.args[0])

    def _called(self, call: ast.Call) -> tuple[Operator | None, ast.expr | None, list[ast.expr]]:
        """What is called, the tensor that it is called of, and the other arguments."""
        name = dotted(self.source, call.func)
        if name is not None:
            return operator_of_function(name), (call.args[0] if call.args else None), list(call.args[1:])
        if not isinstance(call.func, ast.Attribute):
            return None, None, []
        return operator_of_method(call.func.attr), call.func.value, list(call.args)
