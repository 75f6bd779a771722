"""What numpy makes of whole numbers alone: nodes of a quadrature, windows, a rounded logarithm. Dynamo calls it while it traces.

The function for that gives a number or a tuple of floats, which is a constant to Dynamo; where it is called, an array or a list
is made of the tuple anew, so that what changes it in place changes no other call's. Pure.
"""

from __future__ import annotations

import ast
from typing import Literal

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.constant import RULE
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import add_function, dotted, is_bound, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, parameters
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Mend

_PAIRS = frozenset((
    "numpy.polynomial.chebyshev.chebgauss", "numpy.polynomial.hermite.hermgauss", "numpy.polynomial.hermite_e.hermegauss",
    "numpy.polynomial.laguerre.laggauss", "numpy.polynomial.legendre.leggauss",
))  # fmt: skip
"""Functions of a whole number that give two arrays of floats with one dimension."""
_ARRAYS = frozenset(("numpy.bartlett", "numpy.blackman", "numpy.hamming", "numpy.hanning"))
"""Functions of a whole number that give one such array."""
_SCALARS = frozenset(
    f"numpy.{name}"
    for name in ("ceil", "exp", "floor", "log", "log10", "log1p", "log2", "rint", "sqrt", "square", "trunc")
)
"""Functions of a number that give a numpy number."""
_OF_SCALARS = frozenset(("int", "float"))
_DOC = '"""Computed while TorchDynamo traces, and again for another number."""'

Kind = Literal["pair", "array", "list", "scalar", "number"]


def counted(place: Place) -> Mend | None:
    """The mend of an array that whole numbers decide; None where the break is no such array.

    Raises:
        Refused: where it may follow from something else, or is used otherwise.
    """
    source = place.source
    found = _around(source, place) if place.function is not None else None
    support = supported(source, source.tree, "of_numbers")
    if found is None or support is None:
        return None
    call, whole, kind = found
    if kind == "scalar":
        raise Refused(
            f"`{render(source, whole)}` is a numpy number; convert it to a Python number with `.item()` or `int(...)`."
        )
    if kind == "pair" and not _is_unpacked(source, whole):
        raise Refused(f"`{render(source, call)}` gives two arrays; give each a name of its own.")
    given = _given(source, call)
    if given is None:
        raise Refused(f"`{render(source, call)}` takes what is not known to be a whole number.")
    imported = _imports(source, whole, given)
    if imported is None:
        raise Refused(f"`{ast.unparse(whole)}` needs names that are no imports.")
    if edits.comments(source, *source.range(whole)):
        raise Refused("There are comments inside of what would be computed while tracing; move them above it first.")
    root = source.code(call.func).partition(".")[0]
    if kind in ("pair", "array") and dotted(source, ast.copy_location(ast.Name(root, ast.Load()), call.func)) is None:
        return None
    name = source.fresh(f"_{_name(source, whole)}")
    text = source.code(whole) if whole.lineno == whole.end_lineno else ast.unparse(whole)
    gives = {
        "pair": f"tuple(tuple(one.tolist()) for one in {text})",
        "array": f"tuple(({text}).tolist())" if isinstance(whole, ast.BinOp) else f"tuple({text}.tolist())",
        "list": f"tuple({text})",
        "number": text,
    }[kind]
    lines = [
        f"@{support[0]['of_numbers']}",
        f"def {name}({', '.join(dict.fromkeys(given))}):",
        source.indent + _DOC,
        *(source.indent + line for line in imported),
        *([""] if imported else []),
        f"{source.indent}return {gives}",
    ]
    helper = f"{name}({', '.join(dict.fromkeys(given))})"
    array = f"{root}.array"
    new = {
        "pair": f"map({array}, {helper})",
        "array": f"{array}({helper})",
        "list": f"list({helper})",
        "number": helper,
    }[kind]
    return Mend(
        rule=RULE.name,
        title=f"Compute {render(source, call.func)}(...) while tracing",
        path=source.path,
        span=source.span(call),
        edits=(*support[1], add_function(source, lines), edits.rewrite(source, whole, new)),
    )


def _around(source: Source, place: Place) -> tuple[ast.Call, ast.expr, Kind] | None:
    """The call at the break, the expression around it that follows from it alone, and what that gives."""
    if isinstance(place.node, ast.stmt) and hasattr(place.node, "body"):
        return None
    for call in walk(place.site.statement):
        if not isinstance(call, ast.Call):
            continue
        name = dotted(source, call.func)
        if name in _SCALARS and _given(source, call) is not None:
            whole, kind = _number(source, call)
        elif name in _PAIRS or name in _ARRAYS:
            whole, kind = _climbed(source, call, "pair" if name in _PAIRS else "array")
        else:
            continue
        if place.node in walk(whole) or call in walk(place.node):
            return call, whole, kind
    return None


def _climbed(source: Source, call: ast.Call, kind: Kind) -> tuple[ast.expr, Kind]:
    node: ast.expr = call
    while kind != "list":
        around = source.parents[node]
        if kind == "pair" and isinstance(around, ast.Subscript) and around.value is node and _is_half(around.slice):
            node, kind = around, "array"
        elif isinstance(around, ast.expr) and _is_more(source, around, node, kind):
            node = around
        elif kind == "array" and isinstance(around, ast.Attribute) and around.attr == "tolist":
            listed = source.parents[around]
            if not (isinstance(listed, ast.Call) and listed.func is around and not listed.args):
                break
            node, kind = listed, "list"
        else:
            break
    return node, kind


def _number(source: Source, call: ast.Call) -> tuple[ast.expr, Kind]:
    """The Python number that follows from a numpy number alone; the largest expression without one is a `scalar`."""
    node: ast.expr = call
    while True:
        around = source.parents[node]
        if isinstance(around, ast.Attribute) and isinstance(method := source.parents[around], ast.Call):
            if around.attr == "item" and not (method.args or method.keywords):
                return method, "number"
            if not (around.attr == "astype" and _is_dtype(source, method)):
                return node, "scalar"
            node = method
        elif isinstance(around, ast.Call) and around.args == [node] and not around.keywords:
            if any(is_builtin(source, around.func, name) for name in _OF_SCALARS):
                return around, "number"
            if dotted(source, around.func) not in _SCALARS:
                return node, "scalar"
            node = around
        elif isinstance(around, ast.expr) and _is_more(source, around, node, "array"):
            node = around
        else:
            return node, "scalar"


def _is_dtype(source: Source, method: ast.Call) -> bool:
    """Whether ``astype`` is given a dtype as a text or a builtin."""
    if len(method.args) != 1 or method.keywords:
        return False
    only = method.args[0]
    text = isinstance(only, ast.Constant) and isinstance(only.value, str)
    return text or any(is_builtin(source, only, name) for name in ("int", "float"))


def _is_half(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and type(index.value) is int and index.value in (0, 1)


def _is_more(source: Source, node: ast.expr, of: ast.expr, kind: Kind) -> bool:
    """Whether it is ``typing.cast(T, of)``, or the arithmetic of an array of floats with a number, which warns of nothing."""
    if isinstance(node, ast.Call):
        cast = dotted(source, node.func) == "typing.cast" and len(node.args) == 2
        return cast and node.args[1] is of and not node.keywords
    if kind != "array" or isinstance(node, ast.UnaryOp):
        return kind == "array" and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    if not isinstance(node, ast.BinOp):
        return False
    other = node.right if node.left is of else node.left
    if not isinstance(other, ast.Constant) or type(other.value) not in (int, float):
        return False
    divides = isinstance(node.op, ast.Div) and node.left is of and bool(other.value)
    return divides or isinstance(node.op, (ast.Add, ast.Sub, ast.Mult))


def _is_unpacked(source: Source, whole: ast.expr) -> bool:
    around = source.parents[whole]
    if not isinstance(around, ast.Assign) or len(around.targets) != 1:
        return False
    target = around.targets[0]
    return (
        isinstance(target, ast.Tuple)
        and len(target.elts) == 2
        and all(isinstance(one, ast.Name) for one in target.elts)
    )


def _given(source: Source, call: ast.Call) -> tuple[str, ...] | None:
    """The names that hold the numbers of a call; None where it takes anything else."""
    if call.keywords or len(call.args) != 1:
        return None
    only = call.args[0]
    if isinstance(only, ast.Constant) and type(only.value) is int:
        return ()
    return (only.id,) if isinstance(only, ast.Name) and _is_whole(source, only) else None


def _is_whole(source: Source, name: ast.Name) -> bool:
    function = source.function(name)
    fact = Seen(source).of(name)
    if fact is not None:
        Seen(source).believe(name, "of type int")
        return fact.kinds == ("int",)
    if function is None or name.id not in parameters(function):
        return False
    if any(name.id in assigned(one) for one in function.body):
        return False
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return any(one.arg == name.id and one.annotation and ast.unparse(one.annotation) == "int" for one in arguments)


def _imports(source: Source, whole: ast.expr, given: tuple[str, ...]) -> list[str] | None:
    """The imports that the expression has from functions around it; None where a name of it is no import of the file's."""
    found: list[str] = []
    for name in dict.fromkeys(one.id for one in walk(whole) if isinstance(one, ast.Name)):
        node = next(one for one in walk(whole) if isinstance(one, ast.Name) and one.id == name)
        if name in given or (not is_bound(source, name, node) and is_builtin(source, node, name)):
            continue
        if dotted(source, node) is None:
            return None
        local = [line for one in source.ancestors(whole) for line in _importing(one, name)]
        if len(local) > 1:
            return None
        found += local
    return found


def _importing(scope: ast.AST, name: str) -> list[str]:
    """The statements in a function's own block that import a name, for that name alone."""
    lines: list[str] = []
    for one in scope.body if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else ():
        if not isinstance(one, (ast.Import, ast.ImportFrom)):
            continue
        for alias in one.names:
            if (alias.asname or alias.name.partition(".")[0]) == name:
                member = ast.ImportFrom(one.module, [alias], one.level) if isinstance(one, ast.ImportFrom) else None
                lines.append(ast.unparse(member or ast.Import([alias])))
    return lines


def _name(source: Source, whole: ast.expr) -> str:
    """What the values are called: as the variable that they are given, as the function that returns them."""
    statement = source.statement(whole)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) else target
        if isinstance(first, ast.Name):
            return first.id.strip("_") or "values"
    function = source.function(whole)
    return function.name.strip("_") if function is not None else "values"
