"""One more parameter of a function, and one more keyword of a call, as the lists are written.

No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.model import TextEdit

_END = re.compile(r"\s*(,?)\s*\)\s*(?:->|:)")
_CLOSED = re.compile(r"\s*(,?)\s*\)\Z")


def with_parameter(source: Source, function: Function, text: str) -> TextEdit:
    """`text` as a function's last parameter.

    Raises:
        Refused: when there are none, or something else stands behind the last one.
    """
    a = function.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs]
    values = [*a.defaults, *(one for one in a.kw_defaults if one is not None)]
    return _behind(source, named, [*named, *values], text, source.range(function.body[0])[0], _END)


def with_keyword(source: Source, call: ast.Call, text: str) -> TextEdit:
    """`text` as a call's last argument.

    Raises:
        Refused: when there are none, or something else stands behind the last one.
    """
    given: list[ast.AST] = [*call.args, *call.keywords]
    return _behind(source, given, given, text, source.range(call)[1], _CLOSED)


def _behind(
    source: Source, starts: Sequence[ast.AST], parts: Sequence[ast.AST], text: str, limit: int, end: re.Pattern[str]
) -> TextEdit:
    """`text` behind the last of a list's parts; on a line of its own where the last one has one."""
    at = max((source.range(one)[1] for one in parts), default=0)
    found = end.match(source.text.value[at:limit])
    if found is None:
        raise Refused("Behind the last of its arguments stands a comment or a bracket, or there is none.")
    last = max(starts, key=lambda one: source.range(one)[0])
    gap = source.newline + source.indentation(last) if source.starts_line(last) else " "
    if not found.group(1):
        return TextEdit(source.path, source.between(at, at), f",{gap}{text}")
    at += found.end(1)
    return TextEdit(source.path, source.between(at, at), f"{gap}{text}" + ("," if source.starts_line(last) else ""))
