"""A line that is too long, broken as ruff and black break it: at its last brackets that leave a short head, or at operators.

Works on the text of one statement's line, or of a compound statement's header. Pure.
"""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from dataclasses import dataclass
from itertools import pairwise

_OPENING, _CLOSING = "([{", ")]}"


def layout(line: str, indent: str, limit: int) -> list[str]:
    """A statement's line, broken until its lines are short enough; `indent` is one level.

    Whole where a string in it goes over several lines, whose white space must not move.
    """
    if len(line) <= limit or line.lstrip().startswith('"""') or "\n" in line:
        return [line]
    base = line[: len(line) - len(line.lstrip(" \t"))]
    text = line.strip()
    if text.startswith("from ") and not text.endswith(")"):
        head, word, names = text.partition(" import ")
        parts = [f"{base}{indent}{one.strip()}," for one in names.split(",")]
        return [f"{base}{head}{word}(", *parts, f"{base})"]
    found = _expression(text)
    if found is None:
        return _at_brackets(line, indent, limit) or [line]
    head, value, _ = found
    if _wants_parentheses(value):
        return _in_parentheses(base, indent, limit, found)
    return _at_brackets(line, indent, limit) or (
        _in_parentheses(base, indent, limit, found) if head.endswith(("return ", "= ", "if ", "while ")) else [line]
    )


def arguments(text: str) -> list[str]:
    """The arguments that a line holds which is nothing but some of a call's; none where it may be anything else."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError):
        return []
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return []
    tokens = _tokens(text)
    cuts = [0, *_commas(tokens), len(text)] if tokens else []
    parts = [text[start:end].lstrip(",").strip() for start, end in pairwise(cuts)]
    return parts if len(parts) > 1 and len(parts) == len(call.args) + len(call.keywords) else []


def _expression(text: str) -> tuple[str, str, str] | None:
    """What stands before, in and behind the expression of a ``return``, an assignment, a header or a call's statement."""
    for suffix in ("", " pass"):
        try:
            (one,) = ast.parse(text.removeprefix("el") + suffix).body
        except (SyntaxError, ValueError):
            continue
        value = getattr(one, "test", None) or getattr(one, "value", None)
        if not isinstance(one, (ast.Return, ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.While)) or value is None:
            return None
        shift = 2 * text.startswith("elif ")
        data = text.encode()
        start, end = (len(data[: shift + at].decode()) - 0 for at in (value.col_offset, value.end_col_offset))
        if text[start - 1 : start] == "(" and not isinstance(one, ast.Expr):
            return None  # it has its parentheses
        return text[:start], text[start:end], text[end:]
    return None


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int
    depth: int  # that of the brackets around it; a bracket's own is that of what is around it


def _tokens(text: str) -> list[_Token]:
    try:
        found = list(tokenize.generate_tokens(io.StringIO(text.strip() + "\n").readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return []
    lead = len(text) - len(text.lstrip(" \t"))
    tokens: list[_Token] = []
    depth, string = 0, 0
    for one in found:
        kind = tokenize.tok_name[one.type]
        string += (kind in ("FSTRING_START", "TSTRING_START")) - (kind in ("FSTRING_END", "TSTRING_END"))
        if one.start[0] != 1 or not one.string.strip() or string:
            continue
        opens = one.type == tokenize.OP and one.string in _OPENING
        closes = one.type == tokenize.OP and one.string in _CLOSING
        depth -= closes
        tokens.append(_Token(one.string, one.start[1] + lead, one.end[1] + lead, depth))
        depth += opens
    return tokens


def _operators(text: str) -> list[_Token]:
    """The operators of the lowest precedence of an expression, outside of brackets: where a line may be broken."""
    try:
        node = ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError):
        return []
    tokens = [one for one in _tokens(text) if one.depth == 0]
    if isinstance(node, ast.IfExp):
        return [one for one in tokens if one.text in ("if", "else")]
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        return [one for one in tokens if one.text == word]
    if isinstance(node, ast.BinOp):
        for group in (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%", "@")):
            chosen = [one for at, one in enumerate(tokens) if one.text in group and at and _is_binary(tokens, at)]
            if chosen:
                return chosen
    if isinstance(node, ast.Compare):
        return [one for one in tokens if one.text in ("<", "<=", ">", ">=", "==", "!=")]
    return []


def _is_binary(tokens: list[_Token], at: int) -> bool:
    before = tokens[at - 1]
    return before.text in _CLOSING or before.text[-1].isalnum() or before.text[-1] in "_'\""


def _wants_parentheses(text: str) -> bool:
    """Whether an expression goes into parentheses of its own rather than being broken in its last brackets."""
    operators = _operators(text)
    if not operators:
        return _calls_in_a_row(text) > 2 or text[-1] not in _CLOSING
    last = text[operators[-1].end :].strip()
    return len(operators) > 1 or not last.endswith(")") or last.endswith("()")


def _calls_in_a_row(text: str) -> int:
    """How many methods are called on what calls gave: ``a.b().c().d()`` has three calls."""
    tokens = [one for one in _tokens(text) if one.depth == 0]
    return sum(one.text == "(" and at > 1 and tokens[at - 2].text == "." for at, one in enumerate(tokens))


def _in_parentheses(base: str, indent: str, limit: int, parts: tuple[str, str, str]) -> list[str]:
    head, text, tail = parts
    inner = base + indent
    if len(inner + text) <= limit:
        return [f"{base}{head}(", inner + text, f"{base}){tail}"]
    operators = _operators(text)
    cuts = [0, *(one.start for one in operators), len(text)]
    if not operators:
        tokens = [one for one in _tokens(text) if one.depth == 0]
        called = {at for at, one in enumerate(tokens) if one.text == "("}
        dots = [one.start for at, one in enumerate(tokens) if one.text == "." and at + 2 in called]
        cuts = [0, *dots[_first_call(dots) :], len(text)]
    lines = [f"{base}{head}("]
    for start, end in pairwise(cuts):
        lines += _pieces(text[start:end].strip(), inner, indent, limit)
    return [*lines, f"{base}){tail}"]


def _pieces(text: str, inner: str, indent: str, limit: int, comma: str = "") -> list[str]:
    """An expression inside of brackets: split at its operators, else in its brackets, until its lines are short enough."""
    if len(inner + text + comma) <= limit:
        return [inner + text + comma]
    operators = _operators(text)
    cuts = [0, *(one.start for one in operators), len(text)]
    if not operators:
        cuts = [*_strings(text), len(text)]
        if len(cuts) < 3:
            return _at_brackets(inner + text + comma, indent, limit) or [inner + text + comma]
    parts = [text[start:end].strip() for start, end in pairwise(cuts)]
    lines: list[str] = []
    for at, part in enumerate(parts):
        lines += _pieces(part, inner, indent, limit, comma if at == len(parts) - 1 else "")
    return lines


def _strings(text: str) -> list[int]:
    """Where the strings begin of an expression that is nothing but strings one after the other, which Python joins."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        found = list(tokenize.generate_tokens(io.StringIO(text.strip() + "\n").readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []
    if not isinstance(node, ast.JoinedStr) and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return []
    begins, depth = list[int](), 0
    for one in found:
        kind = tokenize.tok_name[one.type]
        if not depth and kind in ("STRING", "FSTRING_START", "TSTRING_START"):
            begins.append(one.start[1])
        depth += (kind in ("FSTRING_START", "TSTRING_START")) - (kind in ("FSTRING_END", "TSTRING_END"))
    return begins


def _first_call(dots: list[int]) -> int:
    """The first of the dots that a line may begin with: the first call stays with the name that it is of."""
    return min(1, len(dots) - 1)


def _at_brackets(line: str, indent: str, limit: int) -> list[str] | None:
    """The line broken in the last brackets whose head and tail are short enough."""
    tokens = _tokens(line)
    base = line[: len(line) - len(line.lstrip(" \t"))]
    inner = base + indent
    for at in range(len(tokens) - 1, -1, -1):
        close = tokens[at]
        if close.text not in _CLOSING or close.depth:
            continue
        opening = next(one for one in reversed(tokens[:at]) if one.depth == 0 and one.text in _OPENING)
        between = [one for one in tokens[:at] if one.start > opening.start]
        head, tail = line[: opening.end], line[close.start :]
        if not between or len(head) > limit or len(base + tail) > limit:
            continue
        commas = _commas(between)
        edges = [opening.end, *commas, close.start]
        body = [line[a:b].strip(" ,") for a, b in pairwise(edges)]
        body = [one for one in body if one]
        if head.rstrip()[-2:-1] in ("", "=") and len(body) == 1 and not commas:
            continue  # parentheses around an expression, not a call's
        whole = inner + ", ".join(body)
        if len(whole) <= limit and not (commas and _is_display(tokens, opening)):
            return [head, whole, base + tail]
        return [head, *_body(body, inner, indent, limit, alone=close.text == "]" and not commas), base + tail]
    return None


def _body(body: list[str], inner: str, indent: str, limit: int, *, alone: bool) -> list[str]:
    """Each part on lines of its own; a generator, which takes no comma, and an index that is `alone`, without one."""
    comma = "" if alone or (len(body) == 1 and (_is_generator(body[0]) or len(_strings(body[0])) > 1)) else ","
    lines: list[str] = []
    for part in body:
        if part.startswith("lambda") and len(inner + part + comma) > limit:
            lines += _lambda(part + comma, inner, indent, limit)
            continue
        lines += _pieces(part, inner, indent, limit, comma)
    return lines


def _lambda(part: str, inner: str, indent: str, limit: int) -> list[str]:
    """A lambda with its body in parentheses, where that has operators or its brackets open too late; else broken in these."""
    bare = part.rstrip(",")
    try:
        node = ast.parse(bare, mode="eval").body
    except SyntaxError:
        return [inner + part]
    assert isinstance(node, ast.Lambda)
    start = len(bare.encode()[: node.body.col_offset].decode())
    text = bare[start:]
    if isinstance(node.body, (ast.IfExp, ast.BoolOp, ast.BinOp)):
        return _in_parentheses(inner, indent, limit, (bare[:start], text, part[len(bare) :]))
    if (broken := _at_brackets(inner + part, indent, limit)) is not None or not isinstance(node.body, ast.Call):
        return broken or [inner + part]
    return [f"{inner}{bare[:start]}(", *_pieces(text, inner + indent, indent, limit), f"{inner}){part[len(bare) :]}"]


def _is_display(tokens: list[_Token], opening: _Token) -> bool:
    """Whether a bracket begins a tuple, a list or a dictionary, and no call or index."""
    before = [one for one in tokens if one.start < opening.start][-1:]
    return (
        not before
        or not (before[0].text in _CLOSING or before[0].text[-1].isalnum() or before[0].text[-1] == "_")
        or (keyword.iskeyword(before[0].text))
    )


def _commas(between: list[_Token]) -> list[int]:
    """Where the commas of a bracket's own level are; not those between a lambda's parameters."""
    depth = between[0].depth
    found: list[int] = []
    parameters = 0
    for one in between:
        if one.depth != depth:
            continue
        if one.text == "lambda":
            parameters += 1
        elif one.text == ":" and parameters:
            parameters -= 1
        elif one.text == "," and not parameters:
            found.append(one.start)
    return found


def _is_generator(text: str) -> bool:
    try:
        return isinstance(ast.parse(f"({text})", mode="eval").body, ast.GeneratorExp)
    except (SyntaxError, ValueError):
        return text.startswith("*")
