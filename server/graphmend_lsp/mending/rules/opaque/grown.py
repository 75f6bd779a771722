"""Which statements an operator needs besides the one that holds a break: what makes what it takes, and what reads what it gives.

Pure reading of `Source` and of the facts of a run.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.outlined import Run, run_of
from graphmend_lsp.mending.rules.opaque.carried import unsized
from graphmend_lsp.mending.rules.opaque.containers import binds_container, fills_container
from graphmend_lsp.mending.rules.opaque.filled import made_in_front
from graphmend_lsp.mending.rules.opaque.held import marked, returns_of
from graphmend_lsp.mending.rules.opaque.sizes import is_sized_by_data
from graphmend_lsp.mending.rules.opaque.taken import annotation_of, first_load, is_array, is_object
from graphmend_lsp.mending.syntax.endings import sets, surely_leaves
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.values import ValueFact

_HISTORY = frozenset(
    ("grad", "backward", "register_hook", "requires_grad_", "retain_grad", "requires_grad", "is_leaf", "grad_fn")
)


def grown(
    source: Source, function: Function, block: Sequence[ast.stmt], at: int, *, carry: bool, more: int
) -> tuple[Run, int, int]:
    """The statements that an operator needs of the one at an index and `more` behind; the indices of the first and the last."""
    first, last = at, min(at + more, len(block) - 1)
    for _ in range(2 * len(block) + 1):
        run = statements_of(source, function, block, first, last)
        other = unsized(source, block[first : last + 1]) if carry else frozenset[str]()
        if (behind := _needed_behind(source, run, block, last, other)) is not None:
            last = behind
        elif (before := _needed_before(source, run, block, first, last)) is not None:
            first = before
        elif last + 1 < len(block) and returns_of(source, function, block[first : last + 1]):
            last = len(block) - 1
        elif not carry and (made := made_in_front(source, block, first, last, run.takes)) is not None:
            first = made
        elif last + 1 < len(block) and _goes_on(run, block[last + 1]):
            last += 1
        else:
            break
    return run, first, last


def _goes_on(run: Run, statement: ast.stmt) -> bool:
    """Whether a statement behind a run would break the graph for the size of what it makes of the run's results."""
    plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    return plain and bool(loaded(statement) & {*run.gives}) and is_sized_by_data(statement)


def statements_of(source: Source, function: Function, block: Sequence[ast.stmt], first: int, last: int) -> Run:
    """The statements from the first to the last index of a block as those of an operator.

    Raises:
        Refused: when they cannot be its statements.
    """
    run = list(block[first : last + 1])
    leaves = returns_of(source, function, run)
    if leaves and last + 1 == len(block) and not (block is function.body and surely_leaves(source, run[-1])):
        raise Refused(
            f"`{first_line(source, leaves[0])}` leaves the statements; an operator gives its values at its end."
        )
    return run_of(source, function, run, returns=bool(leaves), closed=True)


def _needed_behind(
    source: Source, run: Run, block: Sequence[ast.stmt], last: int, unsized: Collection[str]
) -> int | None:
    """The last statement behind a run that reads what it binds and what is no tensor that an operator can give."""
    found = last
    for name in run.gives:
        why = "has another size for other data" if name in unsized else _is_no_result(source, run, name)
        if why is None:
            continue
        anew = next((at for at in range(last + 1, len(block)) if name in sets(source, block[at])), len(block))
        behind = range(last + 1, min(anew + 1, len(block)))
        readers = [at for at in behind if name in loaded(block[at]) | _augmented(block[at])]
        if not readers:
            raise Refused(f"`{name}` {why}, and code after the statements reads it.")
        found = max(found, *readers)
    return found if found > last else None


def _needed_before(source: Source, run: Run, block: Sequence[ast.stmt], first: int, last: int) -> int | None:
    """The statement in front of a run that makes what an operator cannot take, or a container that the statements fill."""
    found = first
    for name in run.takes:
        begun = [at for at in range(first) if name in assigned(block[at])]
        if begun and binds_container(source, block[begun[-1]]) and fills_container(block[first : last + 1], name):
            found = min(found, begun[-1])
            continue
        made = [at for at in range(first) if name in assigned(block[at])]
        fact = Seen(source).of(first_load(source, run, name)) if made else None
        if fact is not None and is_array(fact):  # the tensor that it is made of is what an operator is like
            found = min(found, made[-1])
        if is_object(source, run, name) or annotation_of(source, first_load(source, run, name)) is not None:
            continue
        if not made:
            raise Refused(f"`{name}` is not known to be a tensor or a number, which is what an operator takes.")
        found = min(found, made[-1])
    return found if found < first else None


def _is_no_result(source: Source, run: Run, name: str) -> str | None:
    """Why a name's value cannot be what an operator gives, in words; None when it can."""
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    function = source.function(run.first)
    behind = [
        one
        for one in (walk(function) if function is not None else ())
        if isinstance(one, ast.Name) and one.id == name and source.range(one)[0] >= end
    ]
    for one in behind:
        parent = source.parents.get(one)
        asked = isinstance(parent, ast.Attribute) and parent.attr in _HISTORY
        call = next((each for each in source.ancestors(one) if isinstance(each, ast.Call)), None)
        if asked or (call is not None and source.code(call.func).endswith("autograd.grad")):
            return "is asked for its gradient"
    if any(begin <= source.range(one)[0] < end for one in marked(source, run, name)):
        return "is made to ask for its gradient"
    fact = fact_behind(source, run, name)
    if fact is not None and not fact.is_tensor:
        return "is no tensor"
    if fact is None and Kinds(source).of(behind[0] if behind else run.first) != "tensor":
        return "is not known to be a tensor"
    return None


def fact_behind(source: Source, run: Run, name: str) -> ValueFact | None:
    """What a run saw of a name where it is first read behind the statements."""
    seen, end = Seen(source), source.range(run.last)[1]
    function = source.function(run.first)
    names = [one for one in (walk(function) if function is not None else ()) if isinstance(one, ast.Name)]
    mine = [one for one in names if one.id == name and isinstance(one.ctx, ast.Load) and source.range(one)[0] >= end]
    return next((fact for one in sorted(mine, key=source.range) if (fact := seen.of(one)) is not None), None)


def _augmented(statement: ast.stmt) -> frozenset[str]:
    return frozenset(
        one.target.id for one in walk(statement) if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
    )
