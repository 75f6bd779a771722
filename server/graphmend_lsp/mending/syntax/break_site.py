"""The node a rule is asked about, when the break is of its kinds and the file can be read."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import dataclass

from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.source import Source, Unreadable, read
from graphmend_lsp.model import Declined


@dataclass(frozen=True, slots=True)
class Place:
    """The file of a break, the node at the break, and the ids that the break goes by."""

    source: Source
    node: ast.AST
    gb_ids: frozenset[str | None]


def place_of(request: Request, rule: str, gb_ids: Set[str]) -> Place | tuple[Declined, ...]:
    """Where `rule`, which is about breaks with these ids, has to look.

    When there is nothing to look at, what the rule answers: that the file is unreadable, or nothing.
    """
    site = request.site
    ids = frozenset({site.gb_id, site.root_gb_id})
    if not gb_ids & ids:
        return ()
    source = read(site.path, request.sources.get(site.path, ""))
    if isinstance(source, Unreadable):
        return (Declined(rule, source.reason),)
    node = source.node_at(site.span)
    return () if node is None else Place(source, node, ids)
