"""Check in the graph, or later: validation of tensor values leaves no break in the middle of a function.

What it does
------------
The condition of ``if bad: raise E("...")`` or of an ``assert`` is computed where it is. An operator of the graph takes it and
raises the same exception: `check` of the support module. Where the exception is made of values (sizes, numbers of tensors), a
lambda makes it when the check fails; it also says what the branch says before it raises, or ends the program (``sys.exit``).
`torch._check_tensor_all` reads its tensor, too, and becomes such a check. A file that cannot import the module gets an operator
of its own (`torch.library.custom_op`; `torch._assert_async` of its value keeps the compiler from dropping it). GraphMend offers
two other mends: the exception is raised at the end of the function that TorchDynamo compiles, or the check becomes
`torch._assert_async` or an `assert` of a tensor, which raises a RuntimeError. An assertion that a container or an object is
there asks `bool` of it, which is the same.

Why it costs
------------
Python needs the value of the condition, so TorchDynamo ends the graph there and starts another one behind it, also when
the check never fails. TorchDynamo takes ``assert parts`` of a list of tensors for an assertion of a tensor, and the whole
function runs uncompiled.

Safety
------
The operator raises the exception, with its type and its message, where the check was. When it fails, what Python
has stored before it is lost, so nothing may be stored there. What a module has stored before it (running statistics in
training) is lost, too, where a compiler writes state when a graph ends. A graph has no order but that of its data: a compiler may
write a buffer, or read an index out of range, before the check that comes first in the source. Where a graph of the run writes
what does not depend on the check, the mend assumes that no code catches the exception, but for tensors that the function
itself has made and nobody else holds; where the code behind the check raises
for the values that fail it, that no code in between raises. Where no call fails the check, GraphMend makes it fail in both
programs, and compares what they raise and what they leave behind; a graph that looks up what the check reads raises perhaps
before it, and the mend assumes that no code in between raises.

At the end of the function the exception is the same, but the code in between has run by then, and may raise first. So a check
does not move over statements that write state, change their arguments, print or log. Where a layer in between may draw random
numbers or keep statistics (dropout, batch norm, what is not known), the mend assumes that no code catches the exception. With
`torch._assert_async` the exception becomes a RuntimeError; the mend says so, and is never preferred.

When it is refused
------------------
Inside a `try` that may catch the exception, or where a caller has such a `try` in the run. (In other uses `check` looks for one
when TorchDynamo traces it, and breaks the graph there, so that the handler gets the exception.) When the condition has an effect,
or cannot be computed earlier or later; when it compares lists, which Python does. When the exception shows a whole tensor, whose
text tells of its gradient, or an object (for the operator), has a cause (`raise ... from`) or several arguments (for the
assertion). When the check is at the end already, and costs no graph there.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from graphmend_lsp.mending.facts.between import Between
from graphmend_lsp.mending.facts.caught import catching, handling
from graphmend_lsp.mending.facts.effects import effect_of, statements_in
from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.lowering.deferral import is_deferred
from graphmend_lsp.mending.lowering.tail import Item, at_end, move
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.guard import RULE
from graphmend_lsp.mending.rules.guard import examples as guard_examples
from graphmend_lsp.mending.rules.guard import more_examples as guard_more_examples
from graphmend_lsp.mending.rules.guard import truth as guard_truth
from graphmend_lsp.mending.rules.guard.called import Called, called_check, raise_called
from graphmend_lsp.mending.rules.guard.checks import Assertion, Check, Raise, check_of, on_tensors
from graphmend_lsp.mending.rules.guard.graph import InGraph, assert_in_graph, raise_in_graph
from graphmend_lsp.mending.rules.guard.operator import raise_in_operator
from graphmend_lsp.mending.rules.guard.spoken import Spoken, raise_saying, spoken_check
from graphmend_lsp.mending.syntax.break_site import AT_EDGE, Place, is_free
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.outermost import outermost
from graphmend_lsp.mending.syntax.source import Function, Site, Source, parameters
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

EXAMPLES = (*guard_examples.EXAMPLES, *guard_more_examples.MORE_EXAMPLES)
REFUSALS = (*guard_examples.REFUSALS, *guard_more_examples.MORE_REFUSALS)

_IN_TRY = "The check stands in a `try` that may catch its exception; it must be raised right there."


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mends of a check that breaks the graph, or why there is none; empty for other breaks.

    The operator comes first, because it leaves no break; then the check at the end, which leaves one that costs no graph.
    """
    request = place.request
    site = request.site
    source = place.source
    if place.function is None:
        return ()
    check = _check(source, place.site)
    if check is None:
        return _of_others(place, place.function)
    if isinstance(check, Assertion) and guard_truth.GB_IDS & place.gb_ids:
        if guard_truth.is_asked(check):
            return ()
        edit = guard_truth.truth(source, place.site, check)
        if edit is not None:
            title = f"Mend graph break: ask `bool({source.code(check.statement.test)})`"
            return (Mend(RULE.name, title, site.path, site.span, (edit,)),)
    if not _stays_uncaught(place.site):
        return (Declined(RULE.name, _IN_TRY),)
    if _in_graph_already(source, check):
        return (
            Declined(
                RULE.name, "The check is an `assert` of a tensor with a constant message; it already is in the graph."
            ),
        )
    test = check.statement.test
    if isinstance(check, Assertion) and isinstance(test, ast.Call) and is_supported(source, test.func, "check"):
        return (Declined(RULE.name, "The check is an operator of the graph already."),)
    if (lists := _of_lists(source, check)) is not None:
        words = f"Python compares `{source.code(lists.left)}` as a list; make numbers of its tensors before that."
        return (Declined(RULE.name, words),)
    late = _at_its_end(place, place.function, check)
    at_edge = f"The check already stands at the end of `{place.function.name}`.{AT_EDGE * is_free(site)}"
    if late is None and is_free(site):
        return (Declined(RULE.name, at_edge),)
    late = at_edge if late is None else late
    reasons = [late] if isinstance(late, str) else []
    answers: list[Mend | Declined] = []
    what = "AssertionError" if isinstance(check, Assertion) else _error_name(source, check)
    caught = catching(request, source, place.function)
    operator = handling(request, what) or raise_in_operator(source, place.function, check, request.sources, caught)
    if isinstance(operator, InGraph):
        answers.append(_mend(request, source, check, f"raise {what} in the graph", operator))
    else:
        reasons.append(operator)
    answers += [] if isinstance(late, str) else [late]
    graph = raise_in_graph(source, check) if isinstance(check, Raise) else assert_in_graph(source, check)
    if isinstance(graph, InGraph):
        if caught is not None:
            graph = replace(graph, assumes=(*graph.assumes, Assumption("caught")))
        title = "assert a tensor, in the graph" if isinstance(check, Assertion) else "check in the graph"
        answers.append(_mend(request, source, check, title, graph))
    else:
        reasons.append(graph)
    return tuple(answers) or tuple(Declined(RULE.name, reason) for reason in dict.fromkeys(reasons))


def _of_others(place: Place, function: Function) -> tuple[Mend | Declined, ...]:
    """The mend of a check that is a call of torch's, or says something before it raises; empty when it is neither."""
    if (called := called_check(place.source, place.site)) is not None:
        return (_of_torch(place, function, called),)
    spoken = spoken_check(place.source, place.request.sources, place.site.statement)
    if spoken is None or place.source.range(place.node)[1] > place.source.range(spoken.statement.test)[1]:
        return ()
    return (_of_spoken(place, function, spoken),)


def _of_torch(place: Place, function: Function, check: Called) -> Mend | Declined:
    """The check of torch as one of the support module."""
    request, site = place.request, place.request.site
    what = "RuntimeError" if check.error is None else place.source.code(check.error)
    if not _stays_uncaught(place.site):
        return Declined(RULE.name, _IN_TRY)
    made = handling(request, what) or raise_called(request, place.source, function, check)
    if isinstance(made, str):
        return Declined(RULE.name, made)
    test = (site.path, place.source.span(check.condition))
    title = f"Mend graph break: raise {what} in the graph"
    return Mend(RULE.name, title, site.path, site.span, made.edits, (test,), made.changes, assumes=made.assumes)


def _of_spoken(place: Place, function: Function, check: Spoken) -> Mend | Declined:
    """The check that says something first, as one of the support module."""
    request, source, site = place.request, place.source, place.request.site
    if not _stays_uncaught(place.site):
        return Declined(RULE.name, _IN_TRY)
    made = handling(request, check.error) or raise_saying(source, function, check, request.sources)
    if isinstance(made, str):
        return Declined(RULE.name, made)
    test = (site.path, source.span(check.statement.test))
    title = f"Mend graph break: raise {check.error} in the graph"
    return Mend(RULE.name, title, site.path, site.span, made.edits, (test,), made.changes, assumes=made.assumes)


def _at_its_end(place: Place, function: Function, check: Check) -> Mend | str | None:
    """The check at the end of its function, or why not; None where it already stands there."""
    outer = outermost(place.request, place.source, function)
    if isinstance(outer, str):
        return outer
    if outer.function is not function:
        return f"`{function.name}` is inlined, so its end is not the end of the graph."
    ended = _at_the_end(place.source, function, check)
    if ended is None or isinstance(ended, str):
        return ended
    what = "assert" if isinstance(check, Assertion) else f"raise {_error_name(place.source, check)}"
    return _mend(place.request, place.source, check, f"{what} at the end of {function.name}", ended)


def _check(source: Source, place: Site | None) -> Check | None:
    """The check whose condition or message breaks the graph at the site."""
    if place is None or not isinstance(place.statement, (ast.If, ast.Assert)):
        return None
    found = check_of(place.statement)
    if found is None:
        return None
    at_test = source.range(place.node)[1] <= source.range(place.statement.test)[1]
    return found if at_test or place.node is place.statement or isinstance(found, Assertion) else None


def _of_lists(source: Source, check: Check) -> ast.Compare | None:
    """The comparison of lists or tuples in a check's condition: Python makes it one by one, wherever it stands."""
    for one in walk(check.statement.test):
        if isinstance(one, ast.Compare) and any(isinstance(op, (ast.Eq, ast.NotEq)) for op in one.ops):
            for side in (one.left, *one.comparators):
                called = side.func if isinstance(side, ast.Call) else None
                listed = called is not None and any(is_builtin(source, called, name) for name in ("list", "tuple"))
                if listed or isinstance(side, (ast.List, ast.Tuple)):
                    return one
    return None


def _stays_uncaught(place: Site) -> bool:
    return not any(getattr(one, "handlers", ()) for one in place.tries)


def _at_the_end(source: Source, function: Function, check: Check) -> InGraph | str | None:
    """The move of the check, and of the tensor checks behind it, to the end; None when it stands there already."""
    top: ast.AST = check.statement
    while source.parents[top] is not function:
        top = source.parents[top]
    whole = check_of(top)
    if whole is None:
        return f"The check stands inside other statements of `{function.name}`."
    index = function.body.index(whole.statement)
    items = [_item(whole)]
    staying: list[ast.stmt] = []
    changes: list[str] = []
    for statement in function.body[index + 1 :]:
        other = check_of(statement)
        line = source.span(statement).start.line
        if other is not None and on_tensors(source, other) and not _in_graph_already(source, other):
            items.append(_item(other))
        elif other is not None or _raises_in_graph(source, statement):
            staying += [statement] if other is not None else []
            changes.append(f"When the check in line {line} fails too, its exception is the one that is raised.")
    changed = later(source, function, whole.statement)
    for name in sorted(changed.mutated | changed.containers):
        if name.split(".")[0] in parameters(function):
            return f"`{name}` is changed in place after the check, which must not happen when the check fails."
    own = {id(item.statement) for item in items}
    between = [one for one in function.body[index + 1 :] if id(one) not in own]
    for statement in between:
        problem = _unmovable(source, function, statement)
        if problem:
            return problem
    if any(isinstance(item.statement, ast.If) and _cause(item.statement) for item in items):
        return "An exception is raised `from` another one, which may be gone at the end."
    if at_end(function, items):
        return None
    moved = move(source, function, items, staying)
    if isinstance(moved, str):
        return moved
    name = "AssertionError" if isinstance(check, Assertion) else _error_name(source, check)
    changes.insert(0, f"{name} is raised at the end of `{function.name}`, after the statements that follow the check.")
    return InGraph(moved.edits, tuple(changes), _left_behind(source, [*between, *function.body[-1:]]))


def _left_behind(source: Source, between: list[ast.stmt]) -> tuple[Assumption, ...]:
    """That nobody goes on behind a check that fails, where what runs in front of it by then leaves something behind."""
    trace = Between(source).first(between, "trace")
    if trace is None:
        return ()
    words = (
        f"nobody catches this: `{source.code(trace)}` may draw random numbers or store something before it is raised"
    )
    return (Assumption("caught", words, ((source.path, source.span(trace)),)),)


def _raises_in_graph(source: Source, statement: ast.stmt) -> bool:
    return any(
        isinstance(one, ast.Call)
        and ((dotted(source, one.func) or "") == "torch._assert_async" or is_supported(source, one.func, "check"))
        for one in walk(statement)
    )


def _item(check: Check) -> Item:
    if isinstance(check, Assertion):
        message = (check.statement.msg,) if check.statement.msg is not None else ()
        return Item(check.statement, (check.statement.test,), late=message, whole="holds")
    tests = [one.test for one in walk(check.statement) if isinstance(one, ast.If)][1:]
    error = (check.error.exc,) if check.error.exc is not None else ()
    parts = tuple(
        value
        for one in error
        for value in (
            (*one.args, *(keyword.value for keyword in one.keywords)) if isinstance(one, ast.Call) else (one,)
        )
    )
    whole = "condition" if tests else "failed"
    return Item(check.statement, (check.statement.test,), late=(*tests, *parts), whole=whole)


def _unmovable(source: Source, function: Function, statement: ast.stmt) -> str | None:
    """Why a check may not be moved behind a statement: what that does would be seen although the check fails."""
    for one in statements_in(statement):
        line = source.span(one).start.line
        if effect_of(source, one) is not None or is_deferred(one):
            return f"Line {line} says something, which would then come before the exception."
        targets = getattr(one, "targets", None) or [getattr(one, "target", None)]
        for target in targets:
            for node in walk(target) if target is not None else ():
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    return f"Line {line} writes `{source.code(node)}`, which must not happen when the check fails."
    if any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in walk(function)):
        return f"`{function.name}` writes names of outer scopes, which must not happen when the check fails."
    return None


def _in_graph_already(source: Source, check: Check) -> bool:
    if not isinstance(check, Assertion):
        return False
    return isinstance(graph := assert_in_graph(source, check), str) and "already" in graph


def _cause(statement: ast.stmt) -> bool:
    return any(isinstance(one, ast.Raise) and one.cause is not None for one in walk(statement))


def _error_name(source: Source, check: Raise) -> str:
    error = check.error.exc
    target = error.func if isinstance(error, ast.Call) else error
    return source.code(target) if target is not None else "the exception"


def _mend(request: Request, source: Source, check: Check, title: str, what: InGraph) -> Mend:
    site = request.site
    test = (site.path, source.span(check.statement.test))
    return Mend(
        RULE.name,
        f"Mend graph break: {title}",
        site.path,
        site.span,
        what.edits,
        (test,),
        what.changes,
        assumes=what.assumes,
    )
