"""What a mend takes for granted by what it writes, read off the text before and after it: no rule can forget it. Pure.

* A function that takes one parameter more is called, overridden, replaced and inspected elsewhere; not one inside of another
  function, nor a private one, where each use in its file is a plain call and no other file of the project names it.
* An operator that is registered under the name of its module alone is another file's, too, that is loaded under it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from graphmend_lsp.model import Assumption, Span
from graphmend_lsp.text import Text

Function = ast.FunctionDef | ast.AsyncFunctionDef
Places = tuple[tuple[str, Span], ...]


def declared(
    old: Mapping[str, str],
    new: Mapping[str, str],
    named_elsewhere: Callable[[str, str], bool] = lambda _path, _name: True,
) -> tuple[Assumption, ...]:
    """The assumptions of all changes together; `old` and `new` are the texts of the changed files, by path.

    `named_elsewhere` is given a path and a name, and says whether another file of its project may have the name.
    """
    found: list[Assumption] = []
    for path, text in new.items():
        before, after = _parsed(old.get(path, "")), _parsed(text)
        if before is None or after is None:
            continue
        found += _parameters(path, Text(old.get(path, "")), (before, after), named_elsewhere)
        found += _names(path, before, after)
    return tuple(dict.fromkeys(found))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError):
        return None


def _parameters(
    path: str, text: Text, trees: tuple[ast.Module, ast.Module], named_elsewhere: Callable[[str, str], bool]
) -> Iterator[Assumption]:
    before, after = trees
    functions = dict(_functions(before))
    for name, node in _functions(after):
        known = functions.get(name)
        if known is None:
            continue
        more = [one for one in _names_of(node) if one not in _names_of(known)]
        local = "<locals>" in name
        if not more or (
            (local or _is_private(node.name))
            and _is_only_called(after, node)
            and (local or not named_elsewhere(path, node.name))
        ):
            continue
        span = text.span_from_utf8(known.lineno, known.col_offset, known.lineno, known.col_offset + len("def"))
        words = f"every caller and override of `{name}` accepts `{more[0]}`"
        yield Assumption("callers", words, ((path, span),))


def _functions(tree: ast.AST, home: str = "") -> Iterator[tuple[str, Function]]:
    """The functions of a file by their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield home + node.name, node
            yield from _functions(node, f"{home}{node.name}.<locals>.")
        else:
            yield from _functions(node, f"{home}{node.name}." if isinstance(node, ast.ClassDef) else home)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_only_called(tree: ast.Module, function: Function) -> bool:
    """Whether nothing of the file has the function's name but the function and plain calls, by name or of ``self``."""
    called = {id(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
    for one in ast.walk(tree):
        if one is function:
            continue
        if isinstance(one, (ast.Name, ast.Attribute)):
            other = one.id if isinstance(one, ast.Name) else one.attr
            own = isinstance(one, ast.Name) or (isinstance(one.value, ast.Name) and one.value.id == "self")
            fits = own and id(one) in called
        else:
            words = [getattr(one, "name", None), getattr(one, "asname", None), getattr(one, "arg", None)]
            text = one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else ""
            other = function.name if function.name in words or function.name in text else ""
            fits = False
        if other == function.name and not fits:
            return False
    return not function.decorator_list and not _looks_up(tree)


def _looks_up(tree: ast.Module) -> bool:
    """Whether a file finds names in ways that its text does not show, or exports all of them."""
    odd = ("setattr", "globals", "vars", "locals", "__dict__", "__getattribute__", "__setattr__", "inspect", "jit")
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    names |= {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    names |= {one.name for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.alias))}
    return not names.isdisjoint(odd)


def _names_of(node: Function) -> list[str]:
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _names(path: str, before: ast.Module, after: ast.Module) -> Iterator[Assumption]:
    """`path` is where the operators are; they stand for no place of the old text."""
    known = {ast.dump(one) for one in _registered(before)}
    for one in _registered(after):
        names = {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
        if ast.dump(one) not in known and "__name__" in names and "__file__" not in names:
            file = path.replace("\\", "/").rsplit("/", 1)[-1]
            yield Assumption("one-name", f"no other file is imported under the name of {file}")


def _registered(tree: ast.Module) -> Iterator[ast.expr]:
    """The names under which operators are registered."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "custom_op":
            yield from node.args[:1]
