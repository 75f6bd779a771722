"""A number's flow written as one mend: edits of the expressions, and the conditions it decides taken on by the where rule.

Shared by the rules that keep a number in the graph; what may stay there is decided by the flow.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Read, plain, read_of
from graphmend_lsp.mending.lowering import number_uses as uses
from graphmend_lsp.mending.lowering.choice import choices
from graphmend_lsp.mending.lowering.number_flow import Flow
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place, answers_of
from graphmend_lsp.mending.syntax.formatting import is_atom, render, settled_style
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, Unreadable, read
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Declined, Mend, TextEdit
from graphmend_lsp.text import apply_edits

_CONDITION = "GB0170"
_ROUNDS = 4
_DIVIDED = "On CUDA the last bit may differ: torch multiplies by the reciprocal of a number and divides by a tensor."


def read_at(source: Source, node: ast.AST, gb_ids: frozenset[str | None]) -> Read | None:
    """The read at a break, or the one that the break is inside of (``sum(t.tolist())``, ``math.sqrt(t)``)."""
    tensors = frozenset({node.value}) if isinstance(node, ast.Attribute) else frozenset()
    kinds = Kinds(source, tensors)
    one: ast.AST | None = node
    for _ in range(3):
        if one is None or isinstance(one, ast.stmt):
            return None
        known = Kinds(source, frozenset(one.args)) if isinstance(one, ast.Call) and gb_ids & {"GB0124"} else kinds
        found = read_of(source, known, one)
        if found is not None:
            return found
        if isinstance(one, ast.Call) and len(one.args) == 1 and (dotted(source, one.func) or "").startswith("math."):
            return Read(one.args[0], one.args[0], "item")
        one = source.parents.get(one)
    return None


def followed(source: Source, kinds: Kinds, found: Read) -> Flow:
    """The flow of a read, computed in float64 and int64 where Python's arithmetic asks for it.

    Where it may ask for float64 (should the tensor hold integers) and the dtype behind that is not known, it stays in the
    tensor's and the mend assumes that float64 is not needed.

    Raises:
        Refused: where only a Python number would do.
    """
    flow = Flow(source, kinds)
    flow.begin(found)
    wide = flow.widens
    if flow.inexact or flow.of_whole:
        try:
            double = Flow(source, kinds, double=True, wide=wide)
            double.begin(found)
        except Refused:
            if flow.inexact:
                raise
        else:
            double.of_whole = []
            return double
    if wide:
        kept = flow.of_whole
        flow = Flow(source, kinds, wide=True)
        flow.begin(found)
        flow.of_whole = kept
    return flow


def written(source: Source, flow: Flow) -> list[TextEdit]:
    """The edits that put the flow's texts in the place of the expressions."""
    spots: list[TextEdit] = list(dict.fromkeys(flow.imports))
    for node, text in flow.exchange.items():
        if any(one in flow.exchange for one in source.ancestors(node)):
            continue
        parent = source.parents.get(node)
        alone = isinstance(parent, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign)) and parent.value is node
        start, end = source.range(node)
        value = source.text.value
        if value[start - 1 : start] + value[end : end + 1] == "()":
            called = value[: start - 1].rstrip(" ")[-1:]
            if is_atom(plain(text)) and not (called.isalnum() or called in ("_", ")", "]")):
                spots.append(TextEdit(source.path, source.between(start - 1, end + 1), plain(text)))
                continue
            alone = True
        spots.append(edits.rewrite(source, node, plain(text) if alone else text))  # type: ignore[arg-type]
    return spots


def chained(
    request: Request, source: Source, spots: Sequence[TextEdit], flow: Flow
) -> tuple[list[TextEdit], list[str], list[str], list[Assumption]]:
    """The edits with the conditions that the number decides taken into the graph as well.

    Behind them what that changes, its cautions and what it takes for granted, whose places are of the text in between and
    left out.

    Raises:
        Refused: with the reason of the where rule, when it declines one of the conditions.
    """
    tests = [one for one in conditions(flow) if not _is_check(source, one)]  # those are mended by themselves
    if not tests:
        return list(spots), [], [], []
    text = apply_edits(source.text.value, spots)
    changes: list[str] = []
    cautions: list[str] = []
    assumes: list[Assumption] = []
    wanted = {_shape(source, test, flow) for test in tests}
    functions = {getattr(source.function(test), "name", "") for test in tests}
    style = settled_style(source)
    for _ in range(_ROUNDS):
        now = read(source.path, text)
        if isinstance(now, Unreadable):
            raise Refused(now.reason)
        now = replace(now, style=style)
        test = _test_left(now, wanted, functions)
        if test is None:
            break
        site = replace(
            request.site, gb_id=_CONDITION, gb_type="Data-dependent branching", root_gb_id=None, span=now.span(test)
        )
        answers = answers_of(
            "where", _choose, Request(site, {source.path: text}, styles={**request.styles, source.path: style})
        )
        mend = next((one for one in answers if isinstance(one, Mend)), None)
        if mend is None:
            reasons = [one.reason for one in answers if not isinstance(one, Mend)]
            raise Refused(f"Line {tests[0].lineno}: the condition on it stays. {reasons[0] if reasons else ''}".strip())
        text = apply_edits(text, mend.edits)
        changes += mend.changes
        cautions += mend.cautions
        assumes += (Assumption(one.kind, one.text) for one in mend.assumes)
    return by_lines(source, text), changes, cautions, assumes


def _choose(place: Place) -> tuple[Mend | Declined, ...]:
    return choices("where", place)


def _is_check(source: Source, test: ast.expr) -> bool:
    """Whether a condition is that of a branch that ends in an exception, behind what it says."""
    branch = source.statement(test)
    return isinstance(branch, ast.If) and test in walk(branch.test) and uses.ends(source, branch)


def conditions(flow: Flow) -> Iterator[ast.expr]:
    """The conditions that the number decides, each once, in the order of the text."""
    seen: set[ast.AST] = set()
    for one in sorted(flow.tests, key=lambda node: (node.lineno, node.col_offset)):
        if one not in seen:
            seen.add(one)
            yield one


def _test_left(now: Source, wanted: set[str], functions: set[str]) -> ast.expr | None:
    """The first condition of the new text that a number decides."""
    for one in walk(now.tree):
        here = isinstance(one, (ast.If, ast.IfExp)) and getattr(now.function(one), "name", "") in functions
        if here and isinstance(one, (ast.If, ast.IfExp)) and type(one).__name__ + ast.dump(one.test) in wanted:
            return one.test
    return None


def _shape(source: Source, test: ast.expr, flow: Flow) -> str:
    """What a condition will look like when the edits are made."""
    text = render(source, test, flow.exchange)
    return type(source.parents[test]).__name__ + ast.dump(ast.parse(text, mode="eval").body)


def by_lines(source: Source, text: str) -> list[TextEdit]:
    """The difference of two texts as edits of whole runs of lines."""
    old, new = source.text.value.splitlines(keepends=True), text.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    spots: list[TextEdit] = []
    for kind, first, last, begin, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            spots.append(TextEdit(source.path, source.between(starts[first], starts[last]), "".join(new[begin:end])))
    return spots


def mend(
    name: str, title: str, request: Request, source: Source, flow: Flow, spots: Sequence[TextEdit], at: ast.AST
) -> Mend:
    """The mend of a flow; its conditions are the original's."""
    chosen, changes, cautions, assumes = chained(request, source, spots, flow)
    return Mend(
        rule=name,
        title=title,
        path=source.path,
        span=source.span(at),
        edits=tuple(chosen),
        conditions=tuple((source.path, source.span(test)) for test in conditions(flow)),
        changes=tuple(dict.fromkeys((*([_DIVIDED] if flow.divides else []), *changes))),
        cautions=tuple(dict.fromkeys((*flow.changes, *cautions))),
        assumes=tuple(dict.fromkeys((*_assumed(source, flow), *assumes))),
    )


def _assumed(source: Source, flow: Flow) -> tuple[Assumption, ...]:
    """What a flow takes for granted: that integers need no float64, and that a number's dtype leaves what it meets as it is."""
    whole, beside = (tuple((source.path, source.span(one)) for one in nodes) for nodes in (flow.of_whole, flow.beside))
    return (
        *((Assumption("float64", places=whole),) if whole else ()),
        *((Assumption("dtype", places=beside),) if beside else ()),
    )
