"""Names of what only computes, or changes only what it is called on, for statements that become an operator."""

from __future__ import annotations

PURE = frozenset((
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "len", "list",
    "map", "max", "min", "pow", "range", "reversed", "round", "set", "slice", "sorted", "sum", "tuple", "zip",
))  # fmt: skip
TELLING = ("repr", "str", "format", "type", "vars", "dir", "id")
PURE_PACKAGES = ("math.", "operator.", "itertools.", "copy.", "functools.reduce", "numpy.")
IMPURE = ("numpy.random", "numpy.save", "numpy.load", "numpy.set", "numpy.seterr", "numpy.fromfile", "numpy.memmap", "numpy.put",
           "numpy.copyto", "numpy.fill_diagonal", "numpy.testing", "numpy.ctypeslib")  # fmt: skip
PURE_TORCH = frozenset((
    "torch.autograd.grad", "torch.no_grad", "torch.enable_grad", "torch.equal", "torch.from_numpy", "torch.tensor",
    "torch.as_tensor", "torch.autograd.Variable",
))  # fmt: skip
OF_OWN = frozenset(
    ("append", "extend", "insert", "update", "pop", "setdefault", "add", "sort", "register_hook", "discard")
)
ARRAYS = frozenset(("astype", "copy", "tobytes", "join", "split", "replace", "index", "title", "values", "popitem"))
READING = frozenset(
    ("get", "keys", "items", "values", "count", "index", "copy", "union", "intersection", "difference", "issubset")
)
CONTAINED = frozenset(("list", "tuple", "dict", "set", "str"))
