"""Finding a row of the table at a node, and writing its other form with the node's parts. Pure reading of `Source`."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.spelling.table import Kind, Spelling
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, local_names
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

Parts = dict[str, ast.expr | list[str]]
"""What the letters stand for; ``*R`` for the texts of arguments."""
_MADE: dict[Kind, tuple[type[ast.expr], ...]] = {
    "list": (ast.List, ast.ListComp),
    "dict": (ast.Dict, ast.DictComp),
}


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


_SIMPLE = re.compile(r"-?[\w.]+")  # around `**` these stand without spaces
_BRACKETED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def match(source: Source, row: Spelling, node: ast.expr) -> Parts | None:
    """What the letters of a row stand for at a node; None when the row is about something else."""
    parts: Parts = {}
    return parts if _matches(source, _parsed(row.before), node, parts) else None


def unfit(source: Source, row: Spelling, parts: Parts) -> str:
    """Why the row's other form may not be equal for these parts, as a sentence; "" when it is."""
    for letter, kind in row.where.items():
        node = parts[letter]
        assert isinstance(node, ast.expr)
        if not _is(source, node, kind):
            return f"`{render(source, node)}` is not known to be {_WORDS[kind]}."
    return ""


def written(source: Source, row: Spelling, parts: Parts, at: ast.expr) -> tuple[str, list[TextEdit]]:
    """The other form as text, with the edits that import what it needs."""
    added: list[TextEdit] = []
    statement = ast.parse(row.after).body[0]
    if isinstance(statement, ast.Assign):
        return (
            f"{_text(source, statement.targets[0], parts, at, added)} = {_text(source, statement.value, parts, at, added)}",
            added,
        )
    form = _parsed(row.after)
    text = _text(source, form, parts, at, added)
    around = source.parents.get(at)
    listed = isinstance(around, (ast.Call, ast.Tuple, ast.List)) and getattr(around, "func", None) is not at
    bare = listed or not isinstance(around, ast.expr)
    if isinstance(form, ast.BinOp) and isinstance(around, (ast.BinOp, ast.UnaryOp)):
        bare = isinstance(form.op, ast.Pow) and not isinstance(getattr(around, "op", None), ast.Pow)
    return text if bare else operand(text), added


def _matches(source: Source, form: ast.expr, node: ast.expr, parts: Parts) -> bool:
    if isinstance(form, ast.Name) and _is_letter(form.id):
        parts[form.id] = node
        return True
    if isinstance(form, (ast.Name, ast.Attribute)) and (name := _full_name(form)) is not None:
        return is_builtin(source, node, name) if hasattr(builtins, name) else dotted(source, node) == name
    if isinstance(form, ast.Attribute):
        return (
            isinstance(node, ast.Attribute)
            and node.attr == form.attr
            and _matches(source, form.value, node.value, parts)
        )
    if not (isinstance(form, ast.Call) and isinstance(node, ast.Call)) or not _matches(
        source, form.func, node.func, parts
    ):
        return False
    return _arguments_match(source, form, node, parts)


def _arguments_match(source: Source, form: ast.Call, node: ast.Call, parts: Parts) -> bool:
    wanted = list(form.args)
    given = list(node.args)
    if wanted and isinstance(rest := wanted[-1], ast.Starred) and isinstance(rest.value, ast.Name):
        wanted.pop()
        words = [render(source, one) for one in given[len(wanted) :]]
        words += [
            f"{one.arg}={render(source, one.value)}" if one.arg else f"**{render(source, one.value)}"
            for one in node.keywords
        ]
        parts[rest.value.id] = words
        given = given[: len(wanted)]
    elif {one.arg: ast.dump(one.value) for one in node.keywords} != {
        one.arg: ast.dump(one.value) for one in form.keywords
    }:
        return False
    if len(given) != len(wanted) or any(isinstance(one, ast.Starred) for one in given):
        return False
    return all(_matches(source, one, other, parts) for one, other in zip(wanted, given, strict=True))


def _text(
    source: Source, form: ast.expr, parts: Parts, at: ast.expr, added: list[TextEdit], inside: bool = False
) -> str:
    """The text of a form; `inside` brackets no part of it needs parentheses of its own."""
    if isinstance(form, ast.Starred) and isinstance(form.value, ast.Name):
        words = parts[form.value.id]
        assert isinstance(words, list)
        return ", ".join(words)
    if isinstance(form, ast.Name) and _is_letter(form.id):
        node = parts[form.id]
        assert isinstance(node, ast.expr)
        text = render(source, node)
        bracketed = isinstance(node, _BRACKETED) or (isinstance(node, ast.Tuple) and text.startswith("("))
        return text if bracketed or (inside and not isinstance(node, ast.Tuple)) else operand(text)
    if isinstance(form, (ast.Name, ast.Attribute)) and (name := _full_name(form)) is not None:
        if hasattr(builtins, name):
            if _is_taken(source, name, at):
                raise Refused(f"`{name}` is a name of the file's own, which the equal form needs as Python's.")
            return name
        text, edit = spell(source, name, at)
        added += [edit] if edit is not None else []
        return text
    if isinstance(form, ast.Attribute):
        inner = _text(source, form.value, parts, at, added)
        return f"({inner}).{form.attr}" if isinstance(form.value, ast.BinOp) else f"{inner}.{form.attr}"
    if isinstance(form, ast.Call):
        arguments = [_text(source, one, parts, at, added, inside=True) for one in form.args]
        arguments += [f"{one.arg}={_text(source, one.value, parts, at, added)}" for one in form.keywords]
        return f"{_text(source, form.func, parts, at, added)}({', '.join(one for one in arguments if one)})"
    if isinstance(form, ast.Subscript):
        return (
            f"{_text(source, form.value, parts, at, added)}[{_text(source, form.slice, parts, at, added, inside=True)}]"
        )
    if isinstance(form, ast.UnaryOp):
        return f"~{_text(source, form.operand, parts, at, added)}"
    if isinstance(form, ast.BinOp):
        sign = {ast.Pow: "**", ast.Add: "+", ast.Mult: "*"}[type(form.op)]
        left, right = (_text(source, one, parts, at, added) for one in (form.left, form.right))
        plain = sign == "**" and all(_SIMPLE.fullmatch(one) for one in (left, right))
        return f"{left}{sign}{right}" if plain else f"{left} {sign} {right}"
    if isinstance(form, ast.Compare):
        return f"{_text(source, form.left, parts, at, added)} == {_text(source, form.comparators[0], parts, at, added)}"
    return f'"{form.value}"' if isinstance(form, ast.Constant) and isinstance(form.value, str) else ast.unparse(form)


def _is_taken(source: Source, name: str, at: ast.expr) -> bool:
    """Whether a builtin's name is bound to something else where a node stands."""
    around = [one for one in source.ancestors(at) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return any(name in local_names(one) for one in around) or any(name in assigned(one) for one in source.tree.body)


def _is(source: Source, node: ast.expr, kind: Kind) -> bool:
    if kind == "any":
        return True
    if kind == "plain":
        return isinstance(node, (ast.Name, ast.Constant)) or (
            isinstance(node, ast.Attribute) and _is(source, node.value, "plain")
        )
    if kind == "tensor":
        return Kinds(source).of(node) == "tensor" or _was_tensor(source, node)
    if kind in ("whole", "fraction"):
        value = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        return isinstance(value, ast.Constant) and type(value.value) is (int if kind == "whole" else float)
    if kind == "sizes":
        return _is_sizes(source, node)
    if kind == "size":
        return _is_size(source, node)
    if kind == "tensors":
        return isinstance(node, ast.List) and bool(node.elts) and all(_is(source, one, "tensor") for one in node.elts)
    made = _made(source, node)
    return isinstance(made, _MADE[kind]) or _is_called(source, made, kind)


def _was_tensor(source: Source, node: ast.expr) -> bool:
    """Whether an expression gave a tensor whenever a run evaluated it."""
    fact = Seen(source).of(node)
    if fact is None or not fact.is_tensor:
        return False
    Seen(source).believe(node, "a tensor")
    return True


def _made(source: Source, node: ast.expr) -> ast.expr | None:
    """What a name is set to where that is its only value in the function; another expression itself."""
    function = source.function(node)
    statement = source.statement(node)
    if not isinstance(node, ast.Name) or function is None or statement is None:
        return node
    stored = [
        one
        for one in walk(function)
        if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load)
    ]
    return last_value(source, node.id, statement) if len(stored) == 1 else None


def _is_called(source: Source, value: ast.expr | None, kind: Kind) -> bool:
    """Whether an expression is ``list(...)`` or ``dict(...)``."""
    return isinstance(value, ast.Call) and kind in _MADE and is_builtin(source, value.func, kind)


def _is_sizes(source: Source, node: ast.expr) -> bool:
    """Whether an expression is a tensor's sizes: its shape, a slice of it, or a name for that."""
    value = _made(source, node)
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        return _is_sizes(source, value.value)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr == "size" and not value.args and not value.keywords
    return isinstance(value, ast.Attribute) and value.attr == "shape"


def _is_size(source: Source, node: ast.expr) -> bool:
    """Whether an expression is an int that is not negative, as far as its text tells."""
    value = _made(source, node)
    if isinstance(value, ast.Constant):
        return type(value.value) is int and value.value >= 0
    if isinstance(value, ast.Subscript):
        return not isinstance(value.slice, (ast.Slice, ast.Tuple)) and _is_sizes(source, value.value)
    if not isinstance(value, ast.Call):
        return False
    if is_builtin(source, value.func, "len"):
        return True
    return isinstance(value.func, ast.Attribute) and (
        value.func.attr == "numel" or (value.func.attr == "size" and len(value.args) == 1)
    )


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isupper()


def _full_name(form: ast.expr) -> str | None:
    """The dotted name of a form that has no letters; None for a method of a part."""
    text = ast.unparse(form)
    return None if _is_letter(text.partition(".")[0]) or "(" in text else text


_WORDS: dict[Kind, str] = {
    "any": "anything",
    "plain": "a name or a constant",
    "tensor": "a tensor",
    "sizes": "the sizes of a tensor",
    "size": "a size, or a whole number that is not negative",
    "list": "a list",
    "dict": "a dictionary",
    "tensors": "a list of tensors",
    "whole": "a whole number",
    "fraction": "a number with a fraction",
}
