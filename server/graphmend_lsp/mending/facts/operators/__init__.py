"""One table of what torch's functions, a tensor's methods, Python's operators and builtins do with their operands.

A rule asks here and nowhere else whether a result is a view, carries a gradient, is elementwise, draws random numbers.
What the table lacks is None: take `UNKNOWN` for it, which says that everything may happen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from graphmend_lsp.mending.facts.operators.functional import FUNCTIONAL as _FUNCTIONAL
from graphmend_lsp.mending.facts.operators.functions import FUNCTIONS as _FUNCTIONS
from graphmend_lsp.mending.facts.operators.methods import ATTRIBUTES as _ATTRIBUTES
from graphmend_lsp.mending.facts.operators.methods import METHODS as _METHODS
from graphmend_lsp.mending.facts.operators.operator import UNKNOWN, Operator, read
from graphmend_lsp.mending.facts.operators.python import BUILTINS as _BUILTINS
from graphmend_lsp.mending.facts.operators.python import IN_PLACE as _IN_PLACE
from graphmend_lsp.mending.facts.operators.python import OPERATORS as _OPERATORS
from graphmend_lsp.mending.facts.operators.shared import SHARED as _SHARED

__all__ = [
    "ATTRIBUTES", "BUILTINS", "FUNCTIONAL", "FUNCTIONS", "METHODS", "OPERATORS", "UNKNOWN", "Operator", "in_place",
    "names_that", "operator_of_ast", "operator_of_attribute", "operator_of_builtin", "operator_of_function", "operator_of_method",
    "operators_named",
]  # fmt: skip

_shared = read(_SHARED)
METHODS: Mapping[str, Operator] = _shared | read(_METHODS)
FUNCTIONS: Mapping[str, Operator] = _shared | read(_FUNCTIONS)
FUNCTIONAL: Mapping[str, Operator] = read(_FUNCTIONAL)
ATTRIBUTES: Mapping[str, Operator] = read(_ATTRIBUTES)
OPERATORS: Mapping[str, Operator] = read(_OPERATORS)
BUILTINS: Mapping[str, Operator] = read(_BUILTINS)

_HOMES = {
    "torch": FUNCTIONS,
    "torch.nn.functional": FUNCTIONAL,
    "torch.Tensor": METHODS,
}


def operator_of_method(name: str) -> Operator | None:
    """What ``tensor.name(...)`` does."""
    return METHODS.get(name)


def operator_of_attribute(name: str) -> Operator | None:
    """What ``tensor.name`` gives where it is read and not called."""
    return ATTRIBUTES.get(name)


def operator_of_function(name: str) -> Operator | None:
    """What a function does, by its full name: ``torch.add``, ``torch.nn.functional.relu``, ``torch.Tensor.add_``."""
    home, _, last = name.rpartition(".")
    return _HOMES[home].get(last) if home in _HOMES else None


def operator_of_ast(kind: type[ast.AST]) -> Operator | None:
    """What an operator of Python does with tensors: `ast.Add`, `ast.Lt`, `ast.USub`, `ast.Subscript`."""
    return OPERATORS.get(kind.__name__)


def operator_of_builtin(name: str) -> Operator | None:
    """What a builtin function of Python does with tensors and numbers."""
    return BUILTINS.get(name)


def operators_named(name: str) -> tuple[Operator, ...]:
    """What a name may mean where it is not known to be a method or a function of `torch` or of `nn.functional`."""
    return tuple(table[name] for table in (METHODS, FUNCTIONS, FUNCTIONAL) if name in table)


def names_that(holds: Callable[[Operator], bool]) -> frozenset[str]:
    """The names of which something is so whatever they mean: a method, a function of `torch` or of `nn.functional`."""
    names = {*METHODS, *FUNCTIONS, *FUNCTIONAL}
    return frozenset(name for name in names if all(holds(one) for one in operators_named(name)))


def in_place(kind: type[ast.operator]) -> Operator | None:
    """The method that an augmented assignment to a tensor calls; None for ``@=``, which binds the name anew."""
    name = _IN_PLACE.get(kind.__name__)
    return METHODS[name] if name is not None else None
