"""Which calls have nothing to do with tensors, what they need, and which statements draw from the same generator.

Tables of names and reading of `Source`; nothing is rewritten here.
"""

from __future__ import annotations

import ast
from typing import Literal

from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.imports import binding, dotted
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, parameters
from graphmend_lsp.mending.syntax.walk import walk

Kind = Literal["python", "numpy", "torch", "system", "clock"]

_SYSTEM = (
    "os.path.",
    "os.getcwd",
    "os.getpid",
    "os.cpu_count",
    "gc.",
    "platform.",
    "socket.gethostname",
    "uuid.",
    "sys.getsizeof",
)
_CLOCK = ("time.", "datetime.", "timeit.")
_PURE_BUILTINS = frozenset((
    "abs", "all", "any", "bool", "dict", "enumerate", "float", "getattr", "hasattr", "int", "isinstance", "len", "list",
    "max", "min", "print", "range", "reversed", "round", "set", "sorted", "str", "sum", "super", "tuple", "type", "zip",
))  # fmt: skip


def kind_of(source: Source, call: ast.Call) -> Kind | None:
    """What a call uses: a generator of random numbers, the system, a clock; None for any other call."""
    name = dotted(source, call.func)
    if name is None:
        return None
    if name.startswith("random."):
        return "python"
    if name.startswith("numpy.random."):
        return "numpy"
    if name in ("torch.manual_seed", "torch.seed", "torch.random.manual_seed", "torch.cuda.manual_seed"):
        return "torch"
    if name.startswith(_CLOCK):
        return "clock"
    return "system" if name.startswith(_SYSTEM) else None


def needs(source: Source, function: Function, call: ast.Call) -> str | None:
    """The first thing a call reads that is not there when the function starts, or that may be a tensor."""
    stored = frozenset(name for statement in function.body for name in assigned(statement))
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        for one in walk(argument):
            if isinstance(one, ast.Call):
                return source.code(one)
            if isinstance(one, ast.Name) and (
                one.id in stored or (one.id in parameters(function) and not _is_plain(source, one))
            ):
                return one.id
    return None


def may_draw(source: Source, statement: ast.stmt, kind: Kind, call: ast.Call) -> ast.Call | None:
    """The first call in a statement that may use the generator (or, for the system, may change what the call reads)."""
    for one in walk(statement):
        if not isinstance(one, ast.Call) or one is call:
            continue
        name = dotted(source, one.func)
        if name is not None and not name.startswith(("torch.", "numpy.", "math.", "random.", "os.", "time.")):
            return one
        if name is None and isinstance(one.func, ast.Name):
            if one.func.id not in _PURE_BUILTINS or binding(source, one.func.id, one) is not None:
                return one
            continue
        own = kind_of(source, one)
        if own == kind or (kind == "system" and own is not None):
            return one
        drawn = [hazard.kind for hazard in hazards(source, one) if hazard.node is one]
        if kind == "torch" and any(found in ("random", "compute") for found in drawn):
            return one
        if kind != "torch" and name is None and "effect" in drawn:
            return one
        if "compute" in drawn and _is_drawn_elsewhere(source, kind, call):
            return one
    return None


def _is_drawn_elsewhere(source: Source, kind: Kind, call: ast.Call) -> bool:
    """Whether the file draws from the generator in another place too, which a submodule's call may reach."""
    return any(isinstance(one, ast.Call) and one is not call and kind_of(source, one) == kind for one in source.nodes)


def _is_plain(source: Source, name: ast.Name) -> bool:
    """Whether a parameter is annotated as a Python number or text."""
    function = source.function(name)
    if function is None:
        return False
    for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if one.arg == name.id and one.annotation is not None:
            return ast.unparse(one.annotation) in ("int", "float", "str", "bool")
    return False
