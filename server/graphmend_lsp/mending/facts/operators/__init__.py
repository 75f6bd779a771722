"""One table of what torch's functions, a tensor's methods, Python's operators and builtins do with their operands.

A rule asks here and nowhere else whether a result is a view, carries a gradient, is elementwise, draws random numbers.
What the table lacks is None: take `UNKNOWN` for it, which says that everything may happen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace

from graphmend_lsp.mending.facts.operators.functional import FUNCTIONAL as _FUNCTIONAL
from graphmend_lsp.mending.facts.operators.functions import FUNCTIONS as _FUNCTIONS
from graphmend_lsp.mending.facts.operators.methods import ATTRIBUTES as _ATTRIBUTES
from graphmend_lsp.mending.facts.operators.methods import METHODS as _METHODS
from graphmend_lsp.mending.facts.operators.operator import UNKNOWN, Operator, read
from graphmend_lsp.mending.facts.operators.python import BUILTINS as _BUILTINS
from graphmend_lsp.mending.facts.operators.python import IN_PLACE as _IN_PLACE
from graphmend_lsp.mending.facts.operators.python import OPERATORS as _OPERATORS
from graphmend_lsp.mending.facts.operators.python import is_arithmetic, is_computed
from graphmend_lsp.mending.facts.operators.shared import SHARED as _SHARED
from graphmend_lsp.mending.facts.operators.special import LINALG as _LINALG
from graphmend_lsp.mending.facts.operators.special import LINALG_AS, SPECIAL_AS
from graphmend_lsp.mending.facts.operators.special import SPECIAL as _SPECIAL

__all__ = [
    "ATTRIBUTES", "BUILTINS", "FUNCTIONAL", "FUNCTIONS", "LINALG", "METHODS", "OPERATORS", "SPECIAL", "UNKNOWN",
    "Operator", "in_place", "is_arithmetic", "is_computed", "names_that", "operator_of_ast", "operator_of_attribute",
    "operator_of_builtin", "operator_of_function", "operator_of_method", "operators_named",
]  # fmt: skip


def _under(names: Mapping[str, str]) -> dict[str, Operator]:
    """Operators that another module of torch has under names of its own; in place they have no twin there."""
    return {name: replace(FUNCTIONS[known], name=name, twin=None) for name, known in names.items()}


_shared = read(_SHARED)
METHODS: Mapping[str, Operator] = _shared | read(_METHODS)
FUNCTIONS: Mapping[str, Operator] = _shared | read(_FUNCTIONS)
FUNCTIONAL: Mapping[str, Operator] = read(_FUNCTIONAL)
SPECIAL: Mapping[str, Operator] = read(_SPECIAL) | _under(SPECIAL_AS)
LINALG: Mapping[str, Operator] = read(_LINALG) | _under(LINALG_AS)
ATTRIBUTES: Mapping[str, Operator] = read(_ATTRIBUTES)
OPERATORS: Mapping[str, Operator] = read(_OPERATORS)
BUILTINS: Mapping[str, Operator] = read(_BUILTINS)

_HOMES = {
    "torch": FUNCTIONS,
    "torch.nn.functional": FUNCTIONAL,
    "torch.special": SPECIAL,
    "torch.linalg": LINALG,
    "torch.Tensor": METHODS,
}


def operator_of_method(name: str) -> Operator | None:
    """What ``tensor.name(...)`` does."""
    return METHODS.get(name)


def operator_of_attribute(name: str) -> Operator | None:
    """What ``tensor.name`` gives where it is read and not called."""
    return ATTRIBUTES.get(name)


def operator_of_function(name: str) -> Operator | None:
    """What a function does, by its full name: ``torch.add``, ``torch.nn.functional.relu``, ``torch.linalg.norm``."""
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
