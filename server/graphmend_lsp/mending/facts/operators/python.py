"""Operators of Python on tensors, and builtins. Read by `operator.read`; the classes of `ast` by their names."""

import ast
import math
from collections.abc import Sequence

OPERATORS = """
[elementwise promoted]
Add Sub Mult
[elementwise promoted raises]       # of integers by zero
FloorDiv Mod
[elementwise float]
Div
[elementwise promoted]
Pow BitAnd BitOr BitXor LShift RShift
[promoted]
MatMult
[elementwise same]
USub Invert
[elementwise same maybe]
UAdd
[elementwise bool]
Eq NotEq Lt LtE Gt GtE
[flag]
Is IsNot
[flag raises]
In NotIn Not
[layout same maybe raises]
Subscript
"""

IN_PLACE = {
    "Add": "add_", "Sub": "sub_", "Mult": "mul_", "Div": "div_", "FloorDiv": "floor_divide_", "Mod": "remainder_",
    "Pow": "pow_", "BitAnd": "bitwise_and_", "BitOr": "bitwise_or_", "BitXor": "bitwise_xor_",
    "LShift": "bitwise_left_shift_", "RShift": "bitwise_right_shift_",
}  # fmt: skip
"""The method that ``x += y`` calls of a tensor, by the class of the operator (``@`` has none)."""

BUILTINS = """
[elementwise same]
abs
[elementwise raises]
pow
[elementwise same maybe]
round                               # a number as such, a tensor by its method
[number raises]
int float complex hash ord
[flag raises]
bool all any
[flag]
callable hasattr isinstance issubclass
[number]
id
[number raises]
len
[maybe raises]                      # gives one of what it is given
max min sum
[object maybe]
dict enumerate frozenset iter list range reversed set slice sorted tuple zip
[object maybe effect]               # run what they are given
filter map
[maybe effect raises]               # the iterator is further on
next
[object]
type repr str ascii format
[object raises]
bytes chr bin hex oct
[object maybe raises]
getattr
[none effect]
print
[object effect]
open exec eval input setattr delattr globals locals vars __import__ super
"""

_ARITHMETIC = frozenset((
    "abs", "ceil", "cos", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "prod", "sign",
    "sin", "sqrt", "square", "tan", "tanh",
))  # fmt: skip
_SMALL = 100  # the largest constant: with none above it nothing overflows


def is_arithmetic(name: str) -> bool:
    """Whether that is a function of numpy which computes a number of numbers; of some, as `log(0)`, it warns."""
    return name.startswith("numpy.") and name[len("numpy.") :] in _ARITHMETIC


def is_computed(name: str, arguments: Sequence[ast.expr]) -> bool:
    """Whether a function of numpy or `math` gives a number of these arguments: constants of which it does not warn or raise."""
    constants = [one.value for one in arguments if isinstance(one, ast.Constant)]
    values = [one for one in constants if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(values) < len(arguments) or any(abs(one) > _SMALL for one in values):
        return False
    home, _, last = name.rpartition(".")
    if home != "math":
        count = 2 if last in ("maximum", "minimum", "power") else 1
        return is_arithmetic(name) and len(values) == count and all(one > 0 for one in values)
    try:
        getattr(math, last)(*values)
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        return False
    return True
