"""Classes that do not depend on the call are defined once, at the top of the file.

What it does
------------
A ``class`` statement in a function moves to the top of the file when it holds only constants and functions, and the function
only reads its constants and calls its functions.

Why it costs
------------
Dynamo does not trace the making of a class: it ends the graph there, makes the class in Python and starts again.

Safety
------
Each call had a class of its own, with the same constants and functions. As nothing but those is read, and nothing of
the class is set, kept or handed on, nobody can tell the classes apart. The functions read no name of the function around them.

When it is refused
------------------
For classes with a base, a decorator or anything else in them than constants and functions; when an object is made of the
class, or the class itself is used; when the file uses the name elsewhere.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace

from graphmend_lsp.mending.rules.definition import RULE
from graphmend_lsp.mending.rules.definition.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import first_line, render, verbatim
from graphmend_lsp.mending.syntax.imports import add_function, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, free_names, local_names
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_READING_NAMES = ("locals", "vars", "dir", "eval", "exec")


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a class that is defined in a function; empty when the break is no such definition."""
    source = place.source
    made = place.node
    if place.function is None or not isinstance(made, ast.ClassDef):
        return ()
    if made not in place.function.body:
        raise Refused(f"`{first_line(source, made)}` stands inside another statement and is not always defined.")
    _check_header(source, made)
    functions = _functions(source, made)
    _check_uses(source, place.function, made, functions)
    return (
        Mend(
            rule=RULE.name,
            title=f"Define {made.name} at the top of the file",
            path=source.path,
            span=source.span(made),
            edits=(add_function(source, verbatim(source, made)), _removed(source, made)),
        ),
    )


def _removed(source: Source, made: ast.ClassDef) -> TextEdit:
    """The edit that takes the class out, with the empty line behind it."""
    edit = edits.remove(source, made)
    start, end = source.text.offset(edit.span.start), source.text.offset(edit.span.end)
    if source.after(made) and source.text.value.startswith(source.newline, end):
        return replace(edit, span=source.between(start, end + len(source.newline)))
    return edit


def _check_header(source: Source, made: ast.ClassDef) -> None:
    """Whether a class is plain.

    Raises:
        Refused: when making it may do more than bind its names.
    """
    if made.decorator_list or made.keywords or getattr(made, "type_params", []):
        raise Refused(f"`{made.name}` has a decorator or a keyword, which may do something with each class.")
    if not all(is_builtin(source, base, "object") for base in made.bases):
        raise Refused(f"`{made.name}` has a base class, which may do something with each class.")


def _functions(source: Source, made: ast.ClassDef) -> dict[str, bool]:
    """The names that the class binds, and whether each is a function.

    Raises:
        Refused: when it holds something that may be another thing in each call.
    """
    found: dict[str, bool] = {}
    for one in made.body:
        target = one.targets[0] if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        if isinstance(one, ast.AnnAssign) and one.value is not None and isinstance(one.annotation, ast.Name):
            target = one.target if hasattr(builtins, one.annotation.id) else None
        if isinstance(target, ast.Name) and isinstance(one, (ast.Assign, ast.AnnAssign)) and _is_constant(one.value):
            found[target.id] = False
        elif isinstance(one, ast.FunctionDef) and _is_plain(source, made, one):
            found[one.name] = True
        elif not isinstance(one, ast.Pass) and not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            raise Refused(f"`{first_line(source, one)}` may be something else in each call.")
    if special := next((name for name in found if name.startswith("__")), None):
        raise Refused(f"`{special}` has a meaning of its own for a class.")
    return found


def _is_constant(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_constant(one) for one in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant)


def _is_plain(source: Source, made: ast.ClassDef, function: ast.FunctionDef) -> bool:
    """Whether a function of a class is the same in every call: it takes nothing from around it when it is defined or called."""
    a = function.args
    defaults = [*a.defaults, *(one for one in a.kw_defaults if one is not None)]
    annotations = [one.annotation for one in (*a.posonlyargs, *a.args, *a.kwonlyargs) if one.annotation is not None]
    static = all(is_builtin(source, one, "staticmethod") for one in function.decorator_list)
    if not static or not all(_is_constant(one) for one in defaults) or annotations or function.returns is not None:
        return False
    if any(isinstance(one, (ast.Nonlocal, ast.Global, ast.ClassDef)) for one in walk(function)):
        return False
    if any(isinstance(one, ast.Name) and one.id in ("super", "__class__") for one in walk(function)):
        return False
    around = [one for one in source.ancestors(made) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    outside = frozenset(name for one in around for name in local_names(one)) - {made.name}
    return free_names(function).isdisjoint(outside)


def _check_uses(source: Source, function: Function, made: ast.ClassDef, functions: dict[str, bool]) -> None:
    """Whether a function only reads the constants of its class and calls its functions.

    Raises:
        Refused: when the class may be told from that of another call.
    """
    inside = set(walk(function))
    for one in source.nodes:
        name = one.id if isinstance(one, ast.Name) else None
        if isinstance(one, ast.Name) and name in _READING_NAMES and one in inside:
            raise Refused(f"`{name}` may read every name of `{function.name}`.")
        bound = {one} if one is not made and one not in inside else set()
        if bound and made.name in (getattr(one, "id", None), getattr(one, "name", None), getattr(one, "asname", None)):
            raise Refused(f"`{made.name}` is a name of the file already.")
        if one not in inside or one is made:
            continue
        if isinstance(one, ast.Name) and name == made.name:
            _check_use(source, one, functions)
        elif made.name in (getattr(one, "name", None), getattr(one, "arg", None), getattr(one, "asname", None)):
            raise Refused(f"`{made.name}` is bound more than once.")


def _check_use(source: Source, name: ast.Name, functions: dict[str, bool]) -> None:
    parent = source.parents[name]
    around = source.parents[parent]
    read = isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load) and isinstance(name.ctx, ast.Load)
    if not isinstance(parent, ast.Attribute) or not read or parent.attr not in functions:
        shown = render(source, parent) if isinstance(parent, ast.expr) else name.id
        raise Refused(f"`{shown}` uses more of `{name.id}` than its constants and functions.")
    if functions[parent.attr] and not (isinstance(around, ast.Call) and around.func is parent):
        raise Refused(f"`{render(source, parent)}` hands on a function of `{name.id}`.")
