"""The names that a mend brings into a file, so that mends which are made together never share one.

Read from the text after the mend, whatever rule made it. Pure; knows no rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from graphmend_lsp.mending.syntax.soundness import Region, new_regions, touches, whole
from graphmend_lsp.mending.syntax.source import Source, Unreadable, read
from graphmend_lsp.mending.syntax.support import is_alias
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Mend, NewName, TextEdit
from graphmend_lsp.text import apply_edits

_WORD = re.compile(r"[^\W\d]\w*")


def new_names(mend: Mend, sources: Mapping[str, str]) -> tuple[NewName, ...]:
    """What the mend binds that is no name of the file yet; not what is local to a function that it writes.

    `mend` is one that `soundness.flaw` has nothing against.
    """
    found: dict[tuple[str, str, str], dict[TextEdit, None]] = {}
    for path in dict.fromkeys(edit.path for edit in mend.edits):
        edits = sorted((edit for edit in mend.edits if edit.path == path), key=lambda edit: edit.span)
        before = read(path, sources[path])
        if isinstance(before, Unreadable):
            continue
        words = frozenset(word for edit in edits for word in _WORD.findall(edit.text)) - before.names
        after = read(path, apply_edits(sources[path], edits)) if words else before
        if not words or isinstance(after, Unreadable):
            continue
        regions = list(new_regions(before.text, edits))
        for name, node in _bound(after, regions):
            scope = "" if isinstance(node, ast.Attribute) else _scope(after, node)
            if name not in words or not words.isdisjoint(scope.split(".")):
                continue
            at = after.range(node)[0]
            for edit, (start, end) in zip(edits, regions, strict=True):
                if start <= at < end:
                    found.setdefault((path, scope, name), {})[edit] = None
    return tuple(NewName(name, scope, tuple(bound)) for (_, scope, name), bound in found.items())


def _bound(source: Source, regions: Sequence[Region]) -> Iterator[tuple[str, ast.AST]]:
    """The names and attributes that are bound in the outermost statements that the regions touch."""
    for statement in source.tree.body:
        start, end = whole(source, statement)
        if not any(touches(region, start, end) for region in regions):
            continue
        for node in walk(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id, node
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                yield node.attr, node
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield node.name, node
            elif isinstance(node, ast.arg):
                yield node.arg, node
            elif isinstance(node, ast.alias) and node.asname and not is_alias(node):
                yield node.asname, node  # `import torch` is the same whoever writes it
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                yield node.name, node
            elif isinstance(node, ast.MatchMapping) and node.rest:
                yield node.rest, node


def _scope(source: Source, node: ast.AST) -> str:
    """The functions and classes around a node as a dotted name; empty for the module."""
    around = [
        one.name
        for one in source.ancestors(node)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]
    return ".".join(reversed(around))
