"""What a run showed, asked of nodes that no call evaluated, or of which nothing is noted: in texts with braces."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.values import FileFacts, ValueFact

METHOD = """
class Net:
    def forward(self, x, size):
        limit = self.config.heads * 2
        width = self.config.width
        if x.sum() > 0:
            log(
                "a text "
                f"{limit} {size} {self.config.width} "
                f"{self.config.heads} {self.other}"
            )
        return x
"""
INT = ValueFact(("int",), constant=(4,))
TENSOR = ValueFact(("tensor",))


def seen(text: str, noted: dict[tuple[int, str], ValueFact]) -> tuple[Source, Seen]:
    """What is noted of nodes, by their line and text."""
    source = read("/p/a.py", text)
    assert isinstance(source, Source)
    values = {}
    for node in source.nodes:
        if isinstance(node, (ast.expr, ast.arg)) and (fact := noted.get((node.lineno, source.code(node)))) is not None:
            values[source.span(node)] = fact
    known = replace(source, noted=FileFacts(text, values))
    return known, Seen(known)


def in_text(source: Source, code: str) -> ast.expr:
    """The node of that code in the text with braces."""
    dump = ast.dump(ast.parse(code, mode="eval").body)
    [found] = [
        each.value for each in source.nodes if isinstance(each, ast.FormattedValue) and ast.dump(each.value) == dump
    ]
    return found


NOTED = {(4, "limit"): INT, (3, "size"): INT, (5, "self.config.width"): INT, (4, "self.config.heads"): INT}


@pytest.mark.parametrize("code", ["limit", "size"])
def test_a_name_of_a_method_is_what_it_was_bound_to_where_nothing_is_noted(code: str) -> None:
    source, facts = seen(METHOD, NOTED)
    assert facts.of(in_text(source, code)) == INT


@pytest.mark.parametrize("code", ["self.config.width", "self.config.heads"])
def test_an_attribute_has_the_kind_that_it_has_elsewhere_and_no_value(code: str) -> None:
    """What runs in between may store another number in it, not another kind."""
    source, facts = seen(METHOD, NOTED)
    fact = facts.of(in_text(source, code))
    assert fact is not None and fact.kinds == ("int",) and fact.is_plain and fact.constant == ()


@pytest.mark.parametrize(
    ("old", "new", "noted"),
    [
        ("return x\n", "self.config.width = x\n        return x\n", NOTED),  # it is stored here
        ("return x\n", "del self.config.width\n        return x\n", NOTED),
        ("return x\n", "self = x\n        return x\n", NOTED),
        ("return x\n", "return x\n", {}),  # nothing is noted
        ("return x\n", "return x\n", {(5, "self.config.width"): TENSOR}),
        ("return x\n", "return x\n", {(5, "self.config.width"): ValueFact(("None",), constant=(None,))}),
        ("return x\n", "y = self.config.width\n        return x\n", {**NOTED, (12, "self.config.width"): TENSOR}),
    ],
)
def test_an_attribute_that_may_be_of_another_kind_is_not_known(
    old: str, new: str, noted: dict[tuple[int, str], ValueFact]
) -> None:
    source, facts = seen(METHOD.replace(old, new), noted)
    assert facts.of(in_text(source, "self.config.width")) is None


def test_a_name_of_a_class_in_a_function_is_not_known() -> None:
    text = "def f(x):\n    width = 4\n    class Inner:\n        width = x\n        text = f'{width}'\n"
    source, facts = seen(text, {(2, "width"): INT})
    assert facts.of(in_text(source, "width")) is None
