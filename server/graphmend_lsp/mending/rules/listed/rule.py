"""Rows listed in one function and used in another: all rows are handed on, and the sign of a number says which are chosen.

What it does
------------
The numbers of the rows that a mask chooses (``rows = torch.where(m)[0]``) are handed to another function of the file, which
gathers these rows, computes with them and stores what comes out at the same rows. In the mend the list has a number for
every row; that of a row which is not chosen counts from the end, so it is negative. At negative numbers zeros are gathered,
so that nothing of such a row is computed with, not even a NaN, and no gradient goes back to it; what is stored there is what
was there. Lists from elsewhere mean what they meant, unless they hold negative numbers.

Why it costs
------------
How many rows a mask chooses depends on the data, and a graph has fixed shapes: Dynamo ends the graph where they are listed,
and again where the list's length is asked for.

Safety
------
Never safe, because it is more work, and products of matrices of another size may round differently. What is computed
for one row must not depend on the other rows, and must be finite, with its derivative, for a row of zeros. In training
modules may mix rows (statistics of a batch), so the list stays as it was there, with its break.

When it is refused
------------------
When the list is used for more than gathering rows, asking whether there are any, and storing at them; when what is
computed from the rows is used otherwise; when a module that takes them has a BatchNorm that keeps no statistics, or any
BatchNorm where no module makes the list, so that nobody knows of training; when the function that takes the list is not in
the file, or is not the only one that the call can mean.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.lowering.counted import indices
from graphmend_lsp.mending.rules.listed import RULE
from graphmend_lsp.mending.rules.listed.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.listed.modules import batch_statistics
from graphmend_lsp.mending.rules.listed.uses import Stored, handed_to, stores_of
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import add_function, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, parameters
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_DOC = '"""The numbers of all rows; one that is not chosen counts from the end, so that it is negative."""'
_ZEROED = '"""The rows of these numbers; zeros for a row that is not chosen, so that nothing comes from it or goes back to it."""'
_FLAT = "The mask must have one dimension, or others of size 1 only; it raises for any other."
_MORE = (
    "All rows are computed and not only those that the mask chooses: more work, and matrix products of another size may "
    "round differently."
)


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a list of rows that another function uses; empty when the break is no such list."""
    source = place.source
    node = place.node
    function = source.function(node)
    if function is None:
        return ()
    listed = _listed(source, node)
    if listed is None:
        return ()
    statement, mask = listed
    uses = handed_to(source, function, statement)
    if not uses:
        return ()
    stored = [one for callee, name in uses for one in stores_of(source, callee, name)]
    return (_mend(source, function, statement, mask, stored),)


def _listed(source: Source, node: ast.AST) -> tuple[ast.Assign, ast.expr] | None:
    """The statement ``rows = torch.where(mask)[0]`` around a break, and the mask."""
    found = indices(source, node)
    if found is None or not found[2]:
        return None
    part = source.parents.get(found[0])
    statement = source.parents.get(part) if part is not None else None
    first = isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and part.slice.value == 0
    if not (first and isinstance(statement, ast.Assign) and statement.value is part):
        return None
    return (statement, found[1]) if [type(one) for one in statement.targets] == [ast.Name] else None


def _mend(source: Source, function: Function, statement: ast.Assign, mask: ast.expr, stored: list[Stored]) -> Mend:
    if any(one.statement is statement for one in stored):
        raise Refused("The function hands the list to itself.")
    names = _names(source)
    owner = source.owner(function)
    is_method = "self" in parameters(function) and owner is not None and bool(owner.bases)
    _refuse_statistics(source, stored, in_training=not is_method)
    text = render(source, mask)
    chosen = text if Kinds(source).is_bool(mask) else f"{operand(text)} != 0"
    call = f"{names.numbers}({chosen})"
    old = render(source, statement.value)
    value = f"{old} if self.training else {call}" if is_method else call
    spots = [*names.added]
    spots.append(edits.rewrite(source, statement.value, value))
    spots += _stores(names, stored)
    read = (source.code(rows.value) for one in stored for rows in one.gathered)
    gathered = dict.fromkeys((*read, *(source.code(one.target.value) for one in stored)))
    modules = dict.fromkeys(text for one in stored for text in one.modules)
    return Mend(
        rule=RULE.name,
        title="Hand on all rows, and keep those of the mask",
        path=source.path,
        span=source.span(statement),
        edits=tuple(spots),
        changes=("In training the rows are listed as before, which is a break.",) if is_method else (),
        cautions=(
            _MORE,
            _FLAT,
            *(f"`{one}` must have a row for each element of the mask." for one in gathered),
            *(
                f"`{one}` must treat each row for itself, and must be finite, with its derivative, for a row of zeros."
                for one in modules
            ),
        ),
    )


@dataclass(frozen=True)
class _Names:
    """How the mend spells ``torch.where``, the names of the two functions that it needs, and the edits that bring them."""

    source: Source
    where: str
    numbers: str
    zeroed: str
    added: tuple[TextEdit, ...] = ()

    @property
    def torch(self) -> str:
        return self.where.removesuffix(".where")


def _names(source: Source) -> _Names:
    where, imported = _spelled(source)
    added = () if imported is None else (imported,)
    found = supported(source, source.tree, "all_rows", "chosen_rows")
    if found is not None:
        return _Names(source, where, found[0]["all_rows"], found[0]["chosen_rows"], (*added, *found[1]))
    names = _Names(source, where, source.fresh("_all_rows"), source.fresh("_chosen_rows"))
    return replace(names, added=(*added, add_function(source, _functions(names))))


def _spelled(source: Source) -> tuple[str, TextEdit | None]:
    where, imported = spell(source, "torch.where", source.tree)
    if not where.endswith(".where"):
        raise Refused("`where` is imported by its own name; import torch.")
    return where, imported


def _functions(names: _Names) -> list[str]:
    """The lines of the two functions."""
    inner, torch = names.source.indent, names.torch
    return [
        f"def {names.numbers}(chosen):",
        inner + _DOC,
        f"{inner}numbers = {torch}.arange(len(chosen), device=chosen.device)",
        f"{inner}return {names.where}(chosen.reshape(len(chosen)), numbers, numbers - len(numbers))",
        "",
        "",
        f"def {names.zeroed}(rows, numbers):",
        inner + _ZEROED,
        f"{inner}return rows.masked_fill((numbers < 0).reshape(-1, *[1] * (rows.dim() - 1)), 0)",
    ]


def _refuse_statistics(source: Source, stored: list[Stored], in_training: bool) -> None:
    for one in stored:
        for module in one.modules:
            made = batch_statistics(source, one.statement, module, in_training=in_training)
            if made is not None:
                raise Refused(f"`{module}` takes statistics over the chosen rows (`{made}`).")


def _stores(names: _Names, stored: list[Stored]) -> list[TextEdit]:
    """The rows that are read become zeros where they are not chosen, and what is stored keeps the others."""
    source = names.source
    texts: dict[ast.AST, str] = {
        rows: f"{names.zeroed}({render(source, rows)}, {one.name})" for one in stored for rows in one.gathered
    }
    stores = {one.statement for one in stored}
    makers = dict.fromkeys(source.statement(rows) for rows in texts)
    spots = [
        _value(source, one, render(source, one.value, texts))
        for one in makers
        if isinstance(one, ast.Assign) and one not in stores
    ]
    for one in stored:
        out, index = source.code(one.target.value), one.name
        shape = f"({index} >= 0).reshape(-1, *[1] * ({out}.dim() - 1))"
        kept = f"{names.where}({shape}, {render(source, one.value, texts)}, {out}[{index}])"
        spots.append(_value(source, one.statement, kept))
    return spots


def _value(source: Source, statement: ast.Assign, value: str) -> TextEdit:
    """The edit that gives a statement another value, in lines that are not too long."""
    start, end = source.range(statement)
    base = edits.block_indentation(source, statement)
    line = base + render(source, statement, {statement.value: value})
    if edits.comments(source, start, end) or not source.starts_line(statement):
        return edits.rewrite(source, statement.value, value)
    lines = layout(line, source.indent, line_limit(source))
    return edits.replace(source, statement, statement, [one.removeprefix(base) for one in lines])
