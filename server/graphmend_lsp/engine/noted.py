"""From what the worker noted of values to `Facts` of the current texts."""

from __future__ import annotations

from collections.abc import Iterable

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text
from graphmend_lsp.values import NOTHING, Caller, Facts, FileFacts, FunctionFact, ValueFact
from graphmend_lsp.worker.wire import NotedFunction

_GROUPS = 1_000_000  # more than one function has groups of storages in one run


def facts_of(runs: Iterable[Iterable[NotedFunction]], sources: Sources) -> Facts:
    """The facts of several runs of `sources` as one; a file that cannot be read, or data that does not fit it, has none."""
    texts: dict[str, Text | None] = {}
    facts = NOTHING
    apart = 0
    for functions in runs:
        for function in functions:
            path = function["file"]
            if path not in texts:
                value = sources.get(path)
                texts[path] = None if value is None else Text(value)
            text = texts[path]
            apart += _GROUPS
            if text is not None and (found := _file_facts(function, text, apart)) is not None:
                facts = facts.joined(Facts({path: found}))
    return facts


def _file_facts(function: NotedFunction, text: Text, apart: int) -> FileFacts | None:
    values: dict[Span, ValueFact] = {}
    before: dict[tuple[Position, str], ValueFact] = {}
    try:
        for noted in function["values"]:
            line, column, end_line, end_column = noted["at"]
            span = text.span_from_utf8(line, column, end_line, end_column)
            fact = ValueFact.of(noted["value"], apart)
            if noted["name"]:
                before[span.start, noted["name"]] = fact
            else:
                values[span] = fact
        callers = tuple(Caller(one["file"], one["line"], one["function"], one["times"]) for one in function["callers"])
    except (KeyError, TypeError, ValueError, IndexError):  # of another version of the worker
        return None
    fact_of = FunctionFact(function["line"], function["function"], function["entered"], function["raised"], callers)
    return FileFacts(text.value, values, before, {function["line"]: fact_of})
