"""The function that a call in the statements of an operator calls, and what it gives its parameters. Pure reading."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from graphmend_lsp.mending.rules.opaque.methods import own_method
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned, read


@dataclass(frozen=True, slots=True)
class Callee:
    """The function that a call surely calls, in its file."""

    source: Source
    function: ast.FunctionDef


def callee_of(source: Source, call: ast.Call, sources: Mapping[str, str]) -> Callee | None:
    """The function of the file, or of one of `sources` that it imports from, or the method, that a call surely calls."""
    name = dotted(source, call.func)
    if name is not None:
        return _elsewhere(name, sources)
    if isinstance(call.func, ast.Name):
        made = defined(source, call.func.id)
    else:
        made = own_method(source, call.func)
    return Callee(source, made) if made is not None else None


def _elsewhere(name: str, sources: Mapping[str, str]) -> Callee | None:
    """The function of another file that an imported name surely is."""
    module, _, last = name.rpartition(".")
    end = "/" + module.replace(".", "/") + ".py"
    paths = [path for path in sources if path.replace("\\", "/").endswith(end)]
    source = read(paths[0], sources[paths[0]]) if module and len(paths) == 1 else None
    made = defined(source, last) if isinstance(source, Source) else None
    return Callee(source, made) if isinstance(source, Source) and made is not None else None


def called_here(source: Source, call: ast.Call) -> ast.FunctionDef | None:
    """The function or method of the same file that a call surely calls."""
    if isinstance(call.func, ast.Name):
        return defined(source, call.func.id)
    return own_method(source, call.func)


def defined(source: Source, name: str) -> ast.FunctionDef | None:
    """The function of a file that a name surely is."""
    made = [one for one in source.tree.body if name in assigned(one) or getattr(one, "name", "") == name]
    return made[0] if len(made) == 1 and isinstance(made[0], ast.FunctionDef) else None


def is_class(source: Source, name: str) -> bool:
    """Whether a name surely is one class of a file."""
    made = [one for one in source.tree.body if name in assigned(one) or getattr(one, "name", "") == name]
    return len(made) == 1 and isinstance(made[0], ast.ClassDef)


def argument(call: ast.Call, made: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a call gives a parameter; None where the text does not say."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return None
    names = [one.arg for one in (*made.args.posonlyargs, *made.args.args)]
    if (
        not made.decorator_list
        and isinstance(call.func, ast.Attribute)
        and getattr(call.func.value, "id", "") == "self"
    ):
        names = names[1:]  # a method's first parameter is the object
    at = names.index(name) if name in names else len(call.args)
    if at < len(call.args):
        return call.args[at]
    return next((one.value for one in call.keywords if one.arg == name), None)


def default(made: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a parameter holds where a call does not give it."""
    a = made.args
    named = zip([*a.posonlyargs, *a.args][::-1], a.defaults[::-1], strict=False)
    pairs = [*named, *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return next((default for arg, default in pairs if arg.arg == name), None)


def is_constant(source: Source, value: ast.expr | None) -> bool:
    """Whether a value that the module binds once is a number, a text, a device or a dtype, or a tuple of such."""
    if isinstance(value, ast.Tuple):
        return all(is_constant(source, one) for one in value.elts)
    if isinstance(value, ast.UnaryOp):
        return is_constant(source, value.operand)
    if isinstance(value, ast.BinOp):
        return is_constant(source, value.left) and is_constant(source, value.right)
    if isinstance(value, ast.IfExp):
        return is_constant(source, value.body) and is_constant(source, value.orelse)
    if isinstance(value, ast.Call):
        return dotted(source, value.func) == "torch.device" or is_builtin(source, value.func, "float")
    if isinstance(value, ast.Attribute):
        return (dotted(source, value) or "").startswith(("torch.", "math.", "numpy."))
    return isinstance(value, ast.Constant)
