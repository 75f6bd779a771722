"""What a condition tells about the names in it: `isinstance(x, torch.Tensor)`, `x is None`.

Only changes what is known of names; finds nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphmend_lsp.analysis.kinds import NONE, PYTHON, TENSOR, UNKNOWN, Kind
from graphmend_lsp.analysis.scope import Scope, path_of

Evaluate = Callable[[Scope, ast.expr], Kind]


def narrow(scope: Scope, condition: ast.expr, truth: bool, evaluate: Evaluate) -> None:
    """Take into the scope what holds where `condition` is `truth`."""
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        narrow(scope, condition.operand, not truth, evaluate)
    elif isinstance(condition, ast.BoolOp):
        if isinstance(condition.op, ast.And) is truth:
            for value in condition.values:
                narrow(scope, value, truth, evaluate)
    elif isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        _by_none(scope, condition, truth)
    elif isinstance(condition, ast.Call) and condition.args:
        _by_type(scope, condition, truth)


def _by_none(scope: Scope, condition: ast.Compare, truth: bool) -> None:
    other = condition.comparators[0]
    path = path_of(condition.left)
    if path and isinstance(other, ast.Constant) and other.value is None:
        equal = isinstance(condition.ops[0], (ast.Is, ast.Eq))
        if equal is truth and isinstance(condition.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            scope.names[path] = NONE


def _by_type(scope: Scope, condition: ast.Call, truth: bool) -> None:
    path = path_of(condition.args[0])
    if not path:
        return
    function = scope.dotted(condition.func)
    if function == "torch.is_tensor":
        scope.names[path] = _tensor_or(scope.kind(condition.args[0])) if truth else UNKNOWN
    elif function == "builtins.isinstance" and len(condition.args) == 2:
        classes = condition.args[1]
        listed = list(classes.elts) if isinstance(classes, ast.Tuple) else [classes]
        names = {scope.dotted(each) for each in listed}
        tensors = {name for name in names if name.startswith("torch.") and name.endswith(("Tensor", "Parameter"))}
        if truth and tensors and tensors == names:
            scope.names[path] = _tensor_or(scope.kind(condition.args[0]))
        elif truth and not tensors:
            python = names <= {"builtins.int", "builtins.float", "builtins.bool", "builtins.str"}
            scope.names[path] = PYTHON if python else UNKNOWN
        elif tensors and not truth:
            scope.names[path] = UNKNOWN


def _tensor_or(kind: Kind) -> Kind:
    return kind if kind.tag == "tensor" else TENSOR
