"""The text of a where mend: expressions on one line with parts exchanged, parentheses, lines broken as black does."""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Mapping
from dataclasses import replace

from graphmend_lsp.mending.rule import Style
from graphmend_lsp.mending.syntax.edits import one_line
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.wrapping import layout

__all__ = [
    "first_line",
    "is_atom",
    "layout",
    "line_limit",
    "name_for",
    "name_of",
    "operand",
    "operand_of_comparison",
    "operand_of_junction",
    "parses_to",
    "render",
    "requoted",
    "settled_style",
    "verbatim",
]

_CONVERSIONS = frozenset(("bool", "float", "int", "list", "str", "tuple"))
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple)


def render(source: Source, node: ast.AST, exchange: Mapping[ast.AST, str] | None = None) -> str:
    """The text of an expression on one line, with some of its nodes replaced by other text."""
    spots: list[tuple[int, int, str]] = []
    pending = [node]
    while pending:
        one = pending.pop()
        if exchange and one in exchange:
            spots.append((*source.range(one), exchange[one]))
            continue
        pending.extend(ast.iter_child_nodes(one))
    start, end = source.range(node)
    parts: list[str] = []
    at = start
    for first, last, text in sorted(spots):
        parts += (source.text.value[at:first], text)
        at = last
    return one_line("".join([*parts, source.text.value[at:end]]))


def is_atom(text: str) -> bool:
    """Whether an expression needs no parentheses as an operand."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    if isinstance(node, (ast.Constant, ast.Tuple)):
        return not isinstance(node, ast.Tuple) and not text.startswith("-")
    return isinstance(node, _ATOMS)


def operand(text: str) -> str:
    """The expression as an operand of any operator."""
    return text if is_atom(text) else f"({text})"


def operand_of_junction(text: str) -> str:
    """The expression as an operand of ``&`` or ``|``: a negation needs no parentheses."""
    return text if text.startswith("~") and is_atom(text[1:]) else operand(text)


def operand_of_comparison(text: str) -> str:
    """The expression as an operand of a comparison: arithmetic needs no parentheses."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return f"({text})"
    return text if is_atom(text) or isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Constant)) else f"({text})"


def line_limit(source: Source) -> int:
    """How long lines may be: as the project says, else as long as the file's longest, between 88 and 120."""
    if source.style.line_length is not None:
        return source.style.line_length
    longest = max((len(source.text.line(number)) for number in range(1, source.text.line_count + 1)), default=0)
    return min(max(longest, 88), 120)


def settled_style(source: Source) -> Style:
    """How the file's project writes code, with this text's line limit: for what a mend makes of it on its way."""
    return replace(source.style, line_length=line_limit(source))


def first_line(source: Source, node: ast.AST) -> str:
    """The first line of a node's text, for messages."""
    lines = source.code(node).splitlines()
    return lines[0] + (" ..." if len(lines) > 1 else "")


def verbatim(source: Source, statement: ast.stmt) -> tuple[str, ...]:
    """The lines of a statement as written, without its own indentation (`dedented`)."""
    return dedented(source.code(statement), source.indentation(statement))


def dedented(piece: str, indent: str) -> tuple[str, ...]:
    """The lines of statements without their indentation, which the first does not have.

    A line that begins inside a string stays as it is, in one item with the line before it: its white space is the string's.
    """
    lines = piece.replace("\r\n", "\n").split("\n")
    inside = _inside_strings(f"if 1:\n{indent}{piece}", 1) if indent else _inside_strings(piece, 0)
    found: list[str] = []
    for number, line in enumerate(lines):
        ended = line if number + 1 in inside else line.rstrip()
        if number in inside:
            found[-1] += f"\n{ended}"
        else:
            found.append(ended.removeprefix(indent))
    return tuple(found)


def _inside_strings(text: str, before: int) -> frozenset[int]:
    """The lines that begin inside a string, counted from 0 behind as many as stand `before` the text.

    Raises:
        Refused: when the text cannot be read token by token.
    """
    found: set[int] = set()
    begun: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING":
                found |= {*range(token.start[0], token.end[0])}
            if name == "FSTRING_START":
                begun.append(token.start[0])
            elif name == "FSTRING_END":
                found |= {*range(begun.pop(), token.end[0])}
    except (tokenize.TokenError, SyntaxError, IndexError):
        raise Refused("A string over several lines stands in a part that would move.") from None
    return frozenset(number - before for number in found)


def goes_over_lines(source: Source, node: ast.AST) -> bool:
    """Whether a node is a text whose white space at the start of a line belongs to it; of several joined ones, one of them."""
    is_text = isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )
    if not is_text or not isinstance(node, ast.expr) or node.lineno == node.end_lineno:
        return False
    begun: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({source.code(node)})").readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING" and token.start[0] != token.end[0]:
                return True
            if name == "FSTRING_START":
                begun.append(token.start[0])
            elif name == "FSTRING_END" and begun.pop() != token.end[0]:
                return True
    except (tokenize.TokenError, SyntaxError, IndexError):
        return True
    return False


def requoted(source: Source, code: str, node: ast.expr) -> str:
    """Code that stood in an f-string, with the quotes that the file has elsewhere."""
    other = code.replace("'", '"')
    double = source.text.value.count('"') >= source.text.value.count("'")
    return other if double and '"' not in code and parses_to(other, node) else code


def parses_to(code: str, node: ast.expr) -> bool:
    """Whether code is the text of an expression."""
    try:
        return ast.dump(ast.parse(code.strip(), mode="eval").body) == ast.dump(node)
    except SyntaxError:
        return False


def name_of(node: ast.expr) -> str:
    """What a person would call a value: ``x.sum()`` is ``x_sum``, ``len(x)`` is ``x_len``, ``tuple(y.shape)`` is ``y_shape``."""
    name = _word(node)
    if isinstance(node, ast.Compare):
        name = "condition"
    elif isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        name = key if isinstance(key, str) and key.isidentifier() else "size" if name == "shape" else ""
    elif isinstance(node, ast.Call) and hasattr(builtins, name):
        converts = isinstance(node.func, ast.Name) and name in _CONVERSIONS
        of = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else None
        words = [] if of is None else [_word(of)]
        if converts and isinstance(of, ast.Attribute):
            words.insert(0, _word(of.value))
        name = "_".join(word for word in (*words, *([] if converts else [name])) if word not in ("", "self", "torch"))
    name = name or "value"
    return f"{name}_value" if hasattr(builtins, name) or keyword.iskeyword(name) else name


def _word(node: ast.expr) -> str:
    """The last word of an expression that names something; empty where there is none."""
    if isinstance(node, (ast.Call, ast.Subscript)):
        return _word(node.func if isinstance(node, ast.Call) else node.value)
    if isinstance(node, (ast.Attribute, ast.Name)):
        return (node.attr if isinstance(node, ast.Attribute) else node.id).strip("_")
    return ""


def name_for(text: str) -> str:
    """A readable name for the value of an expression: ``x.sum()`` is ``x_sum``."""
    words = [word for word in re.findall(r"[A-Za-z_]\w*", text) if word not in ("torch", "self", "item", "double")]
    return "_".join(words[:3]).strip("_").lower() or "value"
