"""Rows that a mask chooses, through modules: all rows are computed, and the mask decides which of them count.

What it does
------------
Rows are gathered by a list of their numbers or by a mask (``token = torch.where(m)[0]``, ``x[token]``, ``y[m]``), go
through modules and arithmetic that treat each row for itself, and are put back at the same rows (``out[token] = h``,
``out.index_add_(0, token, h)``). All rows are computed instead, with those left out set to zero, and only the chosen
ones are put back. So are the experts of a mixture (``for i in range(n): rank, token = torch.where(mask[i])``), also
where the loop turns only for experts that have a row, and batches from which padding was taken out: by the list, by
the mask (``x[m.bool()]``) and by lengths (``torch.cat([p[:n] for n in m.sum(-1).tolist()])``) at once. A list that modules
and functions get too becomes a list of all rows. Rows that go through a function of the file and are put back by the
same mask (``out[m], d[m] = f(x[m], w[m, :])``, also under ``if torch.any(m)``, and in another dtype) go through it as all rows.

Why it costs
------------
How many rows a mask chooses depends on the data, and a graph has fixed shapes: Dynamo ends the graph there, and leaves all
of a loop to Python when this happens in the loop.

Safety
------
More work: each expert of a mixture computes every token. Rows that are left out enter as zeros, so that no NaN of theirs
is passed on, and are dropped again where the rows are put back. Into a function of the file they enter as zeros too, or as
the lower end where the mask chooses an interval (``(x >= a) & (x <= b)``).
Such a function may be safe: where it holds no product of matrices, gets rows and Python values alone, the run showed how
many dimensions they have, and all rows cost less than ten times as much. Where it looks up or checks values, the filled rows
may make it raise, so that the Python values must be the same in every call of the run. A mend that removes a test for any
row runs the function for no rows, too, and is never safe; another mend keeps the test, and its break.
Through modules and arithmetic it is never safe: what a module gives for one row must not depend on the other rows, and
products of matrices of another size may round differently. A program that would rather keep the sizes of the data can set
`torch._dynamo.config.capture_dynamic_output_shape_ops`, with which Dynamo takes lists of rows into the graph where nothing
in Python depends on their length.
A module that gets the list as well must not let chosen rows see others: its attention must be masked.

When it is refused
------------------
When rows are returned, reduced, sorted, concatenated or counted; when they go through a function that may mix them; when
the list is used otherwise than to gather rows and to put them back; when it has no dimension for one row alone
(``.nonzero().squeeze()``); and when other rows may be put back than were gathered. A function of the file is read: it is
declined when it mixes, counts or draws for rows, branches on them, or does more than compute; one of another file is
taken on trust, and told.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import replace

from graphmend_lsp.mending.lowering.number_text import by_lines
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.mask import RULE as MASK
from graphmend_lsp.mending.rules.mask import rule as mask
from graphmend_lsp.mending.rules.rows import RULE
from graphmend_lsp.mending.rules.rows import call_examples as rows_call_examples
from graphmend_lsp.mending.rules.rows import examples as rows_examples
from graphmend_lsp.mending.rules.rows.call import Form, through
from graphmend_lsp.mending.rules.rows.flow import put_back
from graphmend_lsp.mending.rules.rows.list import Selection, again, selections
from graphmend_lsp.mending.rules.rows.loop import over_all, without_emptiness
from graphmend_lsp.mending.rules.rows.padding import taken_out
from graphmend_lsp.mending.syntax.break_site import Place, answers_of
from graphmend_lsp.mending.syntax.formatting import settled_style
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, Unreadable, read
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend
from graphmend_lsp.text import apply_edits

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

EXAMPLES = (*rows_examples.EXAMPLES, *rows_call_examples.EXAMPLES)
REFUSALS = (*rows_examples.REFUSALS, *rows_call_examples.REFUSALS)
_IDS = frozenset({"GB0036"})
_NUMBERS = frozenset({"GB0124", "GB0033", "GB0109"})
_TESTS = frozenset({"GB0170"})
_TITLE = "Compute all rows and keep those of the mask"
_MORE = (
    "All rows are computed and not only those that the mask chooses: more work, and matrix products of another size may "
    "round differently."
)
_COUNTED = "The mask must hold zeros and ones, with an element for each row of what is gathered by it."
_MOST = 8
Written = tuple[str, list[str], set[str]]
"""A file's new text, what is taken for granted, and the tests for having no row that are gone, as `ast.dump` tells them."""


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of rows that a mask chooses, or why there is none; empty when the break is no such choice."""
    request = place.request
    ids = place.gb_ids
    source = place.source
    node = place.node
    function = source.function(node)
    if function is None:
        return ()
    forms: list[Form] = through(source, node) if (_IDS | _TESTS) & ids else []
    if not _IDS & ids:
        forms = [one for one in forms if one.tests]  # the test must go, which is the break
    if not forms and (_IDS | _NUMBERS) & ids:
        forms = _mended_rows(request, source, node, function)
    return tuple(
        Mend(
            rule=RULE.name,
            title=_TITLE,
            path=source.path,
            span=source.span(source.statement(node) or node),
            edits=tuple(form.edits),
            conditions=tuple((source.path, source.span(one)) for one in form.tests),
            cautions=tuple(dict.fromkeys(form.cautions)),
            assumes=form.assumes,
        )
        for form in forms
    )


def _is_reduced(request: Request) -> bool:
    """Whether the mask rule mends the break, which costs less than all rows."""
    return MASK.is_about(request.site) and any(
        isinstance(one, Mend) for one in answers_of(MASK.name, mask.propose, request)
    )


def _mended_rows(request: Request, source: Source, node: ast.AST, function: Function) -> list[Form]:
    """Rows that are followed through statements, modules and loops."""
    found = _mended(request, source, node, function.name)
    if found is None:
        return []
    text, cautions, tests = found
    gone = [one.test for one in walk(function) if isinstance(one, ast.If) and ast.dump(one.test) in tests]
    return [Form(by_lines(source, text), [_MORE, *cautions], gone)]


def _mended(request: Request, source: Source, node: ast.AST, function: str) -> Written | None:
    """What computes all rows; None when the break is about no rows."""
    lists = bool(_IDS & {request.site.gb_id, request.site.root_gb_id})
    looped = over_all(source, node) if lists else None
    if looped is not None:
        source = _read(source, looped)
        return _written(source, function, _first_listed(source, function))
    if (padding := taken_out(source, node)) is not None:
        source = _read(source, padding[0])
        text, cautions, tests = _written(source, function, _named(source, function, padding[1]))
        return text, [_COUNTED, *cautions], tests
    found = selections(source, node) if lists else []
    if not found or _is_reduced(request):
        return None
    return _written(source, function, found)


def _first_listed(source: Source, function: str) -> list[Selection]:
    """The rows that are listed first in a loop of the function over all planes of a mask."""
    for node in source.nodes:
        around = [one for one in source.ancestors(node) if isinstance(one, ast.For)]
        over = [source.code(one.iter) for one in around]
        if getattr(source.function(node), "name", "") == function and any(one.startswith("range(len(") for one in over):
            found = selections(source, node) if isinstance(node, ast.Call) else []
            if found:
                return found
    raise Refused("The loop is over what a mask chooses, and gathers no rows.")


def _named(source: Source, function: str, name: str) -> list[Selection]:
    """The rows that are listed under a name."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and getattr(source.function(node), "name", "") == function:
            found = [one for one in selections(source, node) if one.lists and one.rows == name]
            if found:
                return found
    raise Refused(f"`{name}` is no longer found.")


def _written(source: Source, function: str, readings: list[Selection]) -> Written:
    """What computes all rows, by the first reading of what the rows are that fits.

    Raises:
        Refused: with the reason of the first reading, when none fits.
    """
    try:
        return _put(source, function, readings[0])
    except Refused as refused:
        for chosen in readings[1:]:
            with suppress(Refused):
                return _put(source, function, chosen)
        raise refused from None


def _put(source: Source, function: str, chosen: Selection) -> Written:
    tests: set[str] = set()
    for _ in range(_MOST):
        opened = without_emptiness(source, chosen)
        if opened is None:
            break
        tests.add(ast.dump(opened[1]))
        source = _read(source, opened[0])
        later = again(source, chosen, function)
        if later is None:
            raise Refused(f"`{chosen.rows}` is no longer found without the test for rows.")
        chosen = later
    spots, cautions = put_back(source, chosen)
    return apply_edits(source.text.value, spots), cautions, tests


def _read(source: Source, text: str) -> Source:
    """The file with another text."""
    found = read(source.path, text)
    if isinstance(found, Unreadable):
        raise Refused(found.reason)
    return replace(found, style=settled_style(source))
