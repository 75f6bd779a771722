"""Conditions on data that matter only where an argument is given: the argument is tested first.

What it does
------------
``if torch.any(ids == START): use(audio["features"])`` fails where ``audio`` is None and the condition holds. The test
``audio is not None`` is put in front, so that calls without the argument need no value of a tensor; that the
condition does not hold in them is checked in the graph.

Why it costs
------------
Python needs the truth of a tensor to go on, so Dynamo ends the graph there, in calls without the argument too.

Safety
------
Never safe: where the argument is None and the condition holds, the check raises RuntimeError, and before it was the error
of using None. On CUDA it is raised later, and ends the CUDA context. Nothing else changes.

When it is refused
------------------
When the block may run without the argument, or does something else before it uses it; when the argument has another
default than None, or its name gets another value before; and for ``elif`` and conditions that are no tensor.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import defaults_to_none
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.lowering.conditions import Conditions
from graphmend_lsp.mending.rules.given import RULE
from graphmend_lsp.mending.rules.given.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.given.use import needs
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.branches import branch_of
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_TITLE = "Test the argument first"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a condition that needs an argument, or why there is none; empty where no argument may be None."""
    source = place.source
    node = place.node
    function = source.function(node)
    branch = branch_of(source, node)
    if function is None or not isinstance(branch, ast.If):
        return ()
    used = frozenset(name for statement in branch.body for name in loaded(statement))
    names = [one for one in sorted(used) if _may_be_none(source, function, branch, one)]
    if not names:
        return ()
    name = next((one for one in names if needs(source, branch.body, one)), None)
    if name is None:
        raise Refused(f"The block may run without `{names[0]}`, or does something else before it uses it.")
    return (_mend(source, node, branch, name),)


def _may_be_none(source: Source, function: Function, branch: ast.If, name: str) -> bool:
    """Whether a name is an argument that is None by default, has no other value yet, and is not asked for."""
    if not defaults_to_none(source, name, branch) or name in loaded(branch.test):
        return False
    start = source.range(branch)[0]
    inside = {id(one) for statement in branch.body for one in walk(statement)}
    loops = [one for one in source.ancestors(branch) if isinstance(one, (ast.For, ast.While))]
    return not any(name in assigned(one) for one in loops) and not any(
        isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load) and id(one) not in inside
        and source.range(one)[0] < start
        for one in walk(function)
    )  # fmt: skip


def _mend(source: Source, node: ast.AST, branch: ast.If, name: str) -> Mend:
    if not source.starts_line(branch) or source.code(branch).startswith("elif"):
        raise Refused("An `elif` leaves no place for a test before it; write an `if` inside `else`.")
    tensors = frozenset({node}) if isinstance(node, ast.expr) else frozenset({branch.test})
    conditions = Conditions(source, Kinds(source, tensors), source.fresh)
    test = conditions.take(branch.test)
    if test.setup:
        raise Refused("Its condition needs its own statements; give its operands names first.")
    check, imported = spell(source, "torch._assert_async", branch)
    alone = f"{name} is None" + (f" and {test.static}" if test.static else "")
    base = edits.block_indentation(source, branch)
    line = f'{check}(~{operand(test.predicate)}, "`{name}` is None where it is needed")'
    lines = layout(base + source.indent + line, source.indent, line_limit(source))
    code = render(source, branch.test)
    kept = (
        f"({code})" if isinstance(branch.test, (ast.IfExp, ast.Lambda, ast.NamedExpr)) or _is_or(branch.test) else code
    )
    spots: list[TextEdit] = [imported] if imported is not None else []
    spots.append(edits.insert_before(source, branch, [f"if {alone}:", *(one.removeprefix(base) for one in lines)]))
    spots.append(edits.rewrite(source, branch.test, f"{name} is not None and {kept}"))
    return Mend(
        rule=RULE.name,
        title=_TITLE,
        path=source.path,
        span=source.span(branch.test),
        edits=tuple(spots),
        conditions=tuple((source.path, span) for span in test.spans(source)),
        cautions=(
            *conditions.told,
            f"Where `{name}` is None and the condition holds, RuntimeError is raised instead of the error of using None; on "
            "CUDA it is raised later, and ends the CUDA context.",
        ),
    )


def _is_or(node: ast.expr) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
