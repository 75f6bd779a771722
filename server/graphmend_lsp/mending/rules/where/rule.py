"""Predicated control flow: a branch on a tensor becomes data flow with `torch.where`.

What it does
    An ``if`` whose condition is a tensor is replaced by computing both sides and choosing with ``torch.where``:
    assignments, updates without ``else``, early returns, calls that differ in a tensor, conditional expressions, ``a
    or b``, returns inside branches; containers of tensors (lists, tuples, dicts, dataclasses, named tuples, items,
    ``append``) leaf by leaf where both sides have one structure; with ``elif``, nesting, ``and``/``or``/``not``,
    chained comparisons and ``.item()`` in the condition. Conditions that are Python (shapes, dtypes, None checks)
    stay an ``if``. A branch under ``mask.any()`` that fills elements of that mask alone runs in every call as it is: where the
    mask chooses nothing, it changes nothing.

Why it costs
    Dynamo cannot know which side to trace, so it ends the graph at the condition, waits for the value, and starts
    another graph. Inside a loop or a ``try`` the whole function runs uncompiled.

Safety
    Both sides run in every call: time is the sum of both, and what can raise, draw random numbers or have an effect
    is refused; a condition that draws random numbers is evaluated once, in front of both, as before. The chosen values are
    bit-equal. What one side changes in place is written in place (``copy_``) on
    both, so that all who hold the tensor see it; where both sides change it, one of them does so in a copy. Gradients
    are too when both sides are finite; where an operation of the side that is not taken may leave its domain
    (``sqrt``, ``log``, ``/``), its operand is made harmless on that side ("double where"); the plain form is offered
    too and is never called safe then. Sides of different shape or dtype are only seen by running: the verdict
    compares them. Numbers become a tensor without dimensions, which changes no dtype of tensors that have some; they
    must be numbers that every dtype holds, met by ``+``, ``-``, ``*``, comparisons, or ``/`` of powers of two. With
    other numbers (``0.1``) what is computed with each of them is chosen. An index of whole numbers and the divisor of
    ``//`` and ``%`` are 0 and 1 on the side that is not taken, so that they cannot raise there. A tensor that is
    changed in place later, under any name of the function, is not copied by a choice: that is refused.
    Taken for granted, where the source does not show it: that the dtype of what a chosen float meets stays (beside an
    attribute it is brought to that dtype), that nobody asks which tensor object is kept where one side keeps it, that
    nothing else holds an attribute's tensor, that zeros may stand for gradients that a submodule of one side never had,
    and that what both sides now call stores nothing.

When it is refused
    Loops, a side with an effect (print, an item put in a list on one side only, an in-place change of what may be a
    Python number), random numbers, an index or a number that may raise, a side that gives None or text, containers of
    other structures, a number in a container, a name that has no value before, a Python test mixed into ``or``, and
    numbers that are used where only a number will do."""

from __future__ import annotations

from graphmend_lsp.mending.lowering.choice import choices
from graphmend_lsp.mending.rule import Example, Refusal
from graphmend_lsp.mending.rules.where import (
    RULE,
    drawn_examples,
    examples,
    inner_examples,
    numbers_examples,
    stored_examples,
    trees_examples,
    unasked_examples,
)
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.model import Declined, Mend

_PARTS = (examples, numbers_examples, stored_examples, trees_examples, drawn_examples, inner_examples, unasked_examples)
EXAMPLES: tuple[Example, ...] = tuple(one for part in _PARTS for one in part.EXAMPLES)
REFUSALS: tuple[Refusal, ...] = tuple(one for part in _PARTS for one in part.REFUSALS)


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mends of a branch on a tensor, best first; empty when the break is no such branch."""
    return choices(RULE.name, place)
