"""A message as an operator of the graph. Nothing here is one rule's own."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.effects import Effect, blames_caller, is_logger
from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.facts.speakers import message_of
from graphmend_lsp.mending.lowering.capture import Captured, capture
from graphmend_lsp.mending.lowering.deferral import as_lambda, condition_of, expressions, is_deferred, unsuited
from graphmend_lsp.mending.lowering.in_graph import is_known, maps, require_given
from graphmend_lsp.mending.lowering.late import before, kept_for_itself
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import Assumption, Mend


def message_in_graph(rule: str, place: Place) -> Mend | None:
    """The message at a break as an operator; None when the break is no message.

    Raises:
        Refused: when no operator can say it as it is said there.
    """
    source = place.source
    effect = _effect(place)
    if effect is None or is_deferred(effect.statement) or effect.once:
        return None
    function = source.function(effect.statement)
    if function is None:
        return None
    if maps(source, function):
        raise Refused("The file maps this function by `torch.func`, in which no operator of the graph says anything.")
    problem = unsuited(source, effect) or blames_caller(effect)
    if problem is not None:
        raise Refused(problem)
    holder = condition_of(source, effect)
    captured = _captured(source, function, effect, holder)
    require_given(source, captured, expressions(effect))
    found = supported(source, effect.call, "call_in_graph")
    if found is None:
        raise Refused("This file cannot import the support module, which has the operator.")
    opening, closing = _around(found[0]["call_in_graph"], captured)
    return Mend(
        rule=rule,
        title=f"call {effect.label} from the graph",
        path=source.path,
        span=place.request.site.span,
        edits=(*found[1], *as_lambda(source, effect, captured, holder, opening, closing)),
        assumes=(
            *((Assumption("warning-filters"),) if effect.kind == "warn" else ()),
            *kept_for_itself(source, effect.call, before(source, effect.call)),
        ),
    )


def _effect(place: Place) -> Effect | None:
    """The message at the break: the statement itself, or the one under the condition at the break."""
    source, site = place.source, place.request.site
    found = source.site(site.span)
    if found is None:
        return None
    sources = place.request.sources
    effect = message_of(source, sources, found.statement, "GB0291" in (site.gb_id, site.root_gb_id))
    if effect is not None or not isinstance(found.statement, ast.If):
        return effect
    inside = message_of(source, sources, found.statement.body[0])
    return inside if inside is not None and condition_of(source, inside) is found.statement else None


def _around(name: str, captured: Captured) -> tuple[str, str]:
    """What stands before and behind the message in its lambda."""
    head = ", ".join(one.name for one in captured.captures)
    given = "".join(f", {one.code}" for one in captured.captures)
    return f"{name}(lambda {head}".rstrip() + ": ", f"{given})"


def _captured(source: Source, function: Function, effect: Effect, holder: ast.If | None) -> Captured:
    """The values that the lambda is given. What is said on a condition only is computed there, unless Dynamo knows it."""
    coming = later(source, function, None)
    values = expressions(effect)
    if holder is None:
        found = capture(source, function, values, coming, keep_inert=False)
    else:
        late = (holder.test,) if _asks_logger(source, holder.test) else ()
        tests = () if late else (holder.test,)
        found = capture(source, function, (*tests, *values), coming, keep_inert=False, late=late)
        if isinstance(found, str) or not all(one.node in tests or is_known(source, one.node) for one in found.captures):
            found = capture(source, function, tests, coming, keep_inert=False, late=(*late, *values))
    if isinstance(found, str):
        raise Refused(found)
    return found


def _asks_logger(source: Source, test: ast.expr) -> bool:
    """Whether a condition is nothing but a logger's answer."""
    called = test.func if isinstance(test, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == "isEnabledFor" and is_logger(source, called.value)
