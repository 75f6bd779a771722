"""Operators of Python on tensors, and builtins. Read by `operator.read`; the classes of `ast` by their names."""

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


def is_arithmetic(name: str) -> bool:
    """Whether that is a function of numpy which computes a number of numbers; of some it warns, but not of each constant."""
    return name.startswith("numpy.") and name[len("numpy.") :] in _ARITHMETIC
