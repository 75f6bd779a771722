"""What the tests of mending share: programs with the break marked in them, and breaks made from the marks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, cast, get_args

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.model import Break, Frame, Span
from graphmend_lsp.text import Text, apply_edits
from graphmend_lsp.values import NOTHING, Facts, FileFacts, Kind, TensorFact, ValueFact

PATH = "model.py"
Marked = Callable[..., tuple[str, Break]]


def unmark(source: str, outermost: str | None = None, gb_id: str = "GB0170") -> tuple[str, Break]:
    """The program without its marks, and the break between them, in the frames that `outermost` tells."""
    start = source.index("⟦")
    end = source.index("⟧") - 1
    value = source.replace("⟦", "").replace("⟧", "")
    text = Text(value)
    span = Span(text.position(start), text.position(end))
    inner = "<module>"
    if not value.startswith("\ufeff"):
        for node in ast.walk(ast.parse(value)):
            if isinstance(node, ast.FunctionDef) and node.lineno <= span.start.line <= (node.end_lineno or 0):
                inner = node.name
    frames = [Frame(PATH, outermost, _call_of(text, inner))] if outermost else []
    chain = (*frames, Frame(PATH, inner, span))
    gb_type = "Data-dependent branching" if gb_id == "GB0170" else gb_id
    return value, Break(PATH, span, gb_id, gb_type, "", "dynamo", chain=chain)


def _call_of(text: Text, function: str) -> Span:
    """Where a function is called in the program, a ``forward`` through its submodule: the place of the outer frame."""
    if function == "forward":
        for made in re.finditer(r"self\.(\w+) = (\w+)\(", text.value):
            called = text.value.find(f"self.{made[1]}(")
            if called >= 0 and f"class {made[2]}(" in text.value:
                return Span(text.position(called), text.position(called + len(f"self.{made[1]}")))
    at = text.value.find(f"{function}(", text.value.find(f"def {function}(") + len(function) + 5)
    return Span(text.position(max(at, 0)), text.position(max(at, 0) + len(function)))


def _fact(kind: str, *sizes: str) -> ValueFact:
    if kind == "module":
        return ValueFact(("module",), sizes)
    if kind == "array":
        return ValueFact(("other",), ("numpy.ndarray",))
    if kind.startswith("torch."):
        return ValueFact(("other",), (kind,))
    if kind in get_args(Kind) and {"True", "False"}.issuperset(sizes):
        return ValueFact((cast(Kind, kind),), constant=tuple(one == "True" for one in sizes))
    shape = tuple(None if one == "?" else int(one) for one in sizes)
    tensor = TensorFact((kind,), (len(shape),), shape, (False,), ("cpu",), ("strided",), (True,))
    return ValueFact(("tensor",), ("torch.Tensor",), tensor)


def seen_in(source: str, seen: Sequence[tuple[str, str]]) -> Facts:
    """Facts of every expression that is written so: ``float32 4 3`` is a tensor (``?`` a size that differed), ``int`` a Python
    value, ``bool False`` always that one, ``torch.device`` an object of that class."""
    facts = {text: _fact(*words.split()) for text, words in seen}
    read_ = read(PATH, source)
    assert isinstance(read_, Source)
    values = {
        read_.span(one): facts[ast.unparse(one)]
        for one in ast.walk(read_.tree)
        if isinstance(one, ast.expr) and ast.unparse(one) in facts
    }
    return Facts({PATH: FileFacts(source, values)})


def mended(rule: str, source: str, site: Break, facts: Facts = NOTHING) -> str:
    """The program after the rule's best mend, which must be there."""
    answer = propose(site, {PATH: source}, [rule], facts)
    assert answer.mends, [one.reason for one in answer.declined]
    return apply_edits(source, answer.mends[0].edits)


def function_of(source: str) -> Any:
    """The function `fn` of a program."""
    space: dict[str, Any] = {}
    exec(compile(source, PATH, "exec"), space)
    return space["fn"]


@pytest.fixture
def marked() -> Marked:
    return unmark
