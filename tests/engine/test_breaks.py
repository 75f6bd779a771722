"""Events of the worker as sites of the text."""

from typing import Any

import pytest

from graphmend_lsp.engine.breaks import Scope, breaks_of, is_installed, merge_all
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import wrapping
from graphmend_lsp.model import Break, Frame, Span

USER, LIBRARY = "/home/me/model.py", "/env/lib/python3.11/site-packages/lib/model.py"
TEXTS = Sources({
    USER: 'def forward(x):\n    é = "ä"; y = layer(x)\n    if x.any():\n        print(y)\n    return y\n',
    LIBRARY: "def layer(x):\n    if x.sum() > 0:\n        return x\n    return -x\n",
})  # fmt: skip


def frame(file: str, line: int, column: int | None, end_line: int, end: int, kind: str = "code") -> dict[str, Any]:
    return {
        "file": file,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end,
        "function": "f",
        "kind": kind,
    }


def event(*frames: dict[str, Any], gb: str = "GB0170", root: str | None = None, outcome: str = "resumed") -> Any:
    def cause(number: str) -> dict[str, Any]:
        hints = ["Use `torch.cond`.", "This is likely a Dynamo bug. Please report an issue."]
        return {"gb_id": number, "gb_type": number, "context": "", "explanation": " a\n  b ", "hints": hints}

    return {
        "cause": cause(gb),
        "root": cause(root or gb),
        "outcome": outcome,
        "frames": list(frames),
        "compiled": "f",
        "call": 0,
    }


CALL = frame(USER, 2, 17, 2, 25)  # layer(x), behind two characters of two bytes each
BRANCH = frame(LIBRARY, 2, 7, 2, 18)
WHOLE_IF = frame(USER, 3, 4, 4, 16)
TORCH = frame("/env/torch/nn/modules/module.py", 1, 0, 1, 5, "torch")
LIB_CALL = frame(LIBRARY, 3, 8, 3, 16)
LOGGER = frame("/env/lib/python3.11/logging/__init__.py", 1, 0, 1, 5, "logger")


def sites(*events: Any, paths: tuple[str, ...] = (), graphs: int = 9) -> list[Any]:
    return list(breaks_of(events, graphs, "model.py:e", "eval", Scope(paths), TEXTS))


BOUNDED = "/home/me/bounded.py"
BOUNDARY = "y = self._forward_uncompiled(x)\nz = quiet(x)\n"


def test_a_boundary_of_ours_is_a_break_that_stays() -> None:
    calls = [event(frame(BOUNDED, 1, 4, 1, 31), gb="GB0098"), event(frame(BOUNDED, 2, 4, 2, 12), gb="GB0098")]
    [site] = breaks_of(calls, 2, "model.py:e", "eval", Scope(()), Sources({BOUNDED: BOUNDARY}))
    assert site.reason.startswith("`self._forward_uncompiled(x)` runs uncompiled: GraphMend grouped here")
    assert (site.span, site.graphs) == (Span.of(1, 5, 1, 32), 1)


def test_nobody_is_asked_to_edit_the_code_of_a_package() -> None:
    [site] = sites(event(CALL, BRANCH))
    assert site.reason.startswith("What runs next depends on the values of `x.sum() > 0`; that code belongs to lib")
    [named] = sites(event(CALL, BRANCH), paths=(LIBRARY,))
    assert "torch.where" in named.reason


@pytest.mark.parametrize(
    ("events", "paths", "places"),
    [
        ([event(WHOLE_IF)], (), [(USER, Span.of(3, 8, 3, 15))]),
        ([event(CALL, TORCH, BRANCH)], (), [(USER, Span.of(2, 16, 2, 24))]),
        ([event(CALL, BRANCH)], (LIBRARY,), [(LIBRARY, Span.of(2, 8, 2, 19))]),
        ([event(BRANCH)], (), [(LIBRARY, Span.of(2, 8, 2, 19))]),
        ([event(BRANCH)], (USER,), []),
        ([event(CALL, BRANCH)], ("/home/me",), [(USER, Span.of(2, 16, 2, 24))]),
        ([event(frame(USER, 4, 8, 4, 16), LOGGER)], (), [(USER, Span.of(4, 9, 4, 17))]),
        ([event(frame(USER, 4, None, 4, 0))], (), [(USER, Span.of(4, 9, 4, 17))]),
        ([event(WHOLE_IF, gb="GB0025")], (), []),
        ([event(WHOLE_IF, gb="GB7000", root="GB0098")], (), []),
        ([event(TORCH)], (), []),
        ([event(frame("<string>", 3, 1, 3, 2))], (), [("<string>", Span.of(3, 2, 3, 3))]),
    ],
    ids=["whole if", "library at the user's call", "named library", "library alone", "not asked about", "folder", "logger",
         "no columns", "explicit", "disabled", "torch only", "no source"],
)  # fmt: skip
def test_where_a_break_is_shown(events: list[Any], paths: tuple[str, ...], places: list[tuple[str, Span]]) -> None:
    assert [(site.path, site.span) for site in sites(*events, paths=paths)] == places


def test_events_of_one_site_add_up_to_one_break() -> None:
    (site,) = sites(event(CALL, BRANCH, outcome="resumed"), event(CALL, outcome="frame skipped"), event(CALL, BRANCH))
    assert (site.events, site.graphs, site.outcome, len(site.chain)) == (3, 2, "frame skipped", 2)


def test_a_break_costs_no_more_graphs_than_there_are() -> None:
    assert [site.graphs for site in sites(event(WHOLE_IF), event(WHOLE_IF), graphs=2)] == [1]
    assert [site.graphs for site in sites(event(WHOLE_IF), graphs=1)] == [0]


def test_consequences_name_their_root_and_hints_are_useful() -> None:
    (site,) = sites(event(WHOLE_IF, gb="GB7000", root="GB0170"))
    assert (site.gb_id, site.code) == ("GB7000", "GB0170")
    assert site.hints == ("Use `torch.cond`.",)
    assert site.explanation == "a b"
    assert "x.any()" in site.reason


def test_runs_are_merged_by_place() -> None:
    one = breaks_of([event(WHOLE_IF), event(WHOLE_IF)], 9, "a", "eval", Scope(()), TEXTS)
    other = breaks_of([event(WHOLE_IF)], 9, "b", "train", Scope(()), TEXTS)
    (site,) = merge_all([one, other])
    assert (site.entries, site.modes, site.graphs) == (("a", "b"), ("eval", "train"), 2)


@pytest.mark.parametrize(
    ("path", "installed"), [(USER, False), (LIBRARY, True), ("/usr/lib/python3/dist-packages/x.py", True)]
)
def test_is_installed(path: str, installed: bool) -> None:
    assert is_installed(path) is installed


@pytest.mark.parametrize(
    ("frames", "editable", "files"),
    [
        ([LIB_CALL, CALL, WHOLE_IF], {USER}, [LIBRARY]),
        ([CALL, LIB_CALL, WHOLE_IF], {USER}, []),
        ([TORCH, LIB_CALL, CALL], {USER}, [LIBRARY]),
        ([frame("<string>", 1, 0, 1, 1), LIB_CALL, CALL], {USER}, [LIBRARY]),
        ([LIB_CALL, CALL], {USER, LIBRARY}, []),
    ],
    ids=["a wrapper of a package", "a call of a package", "behind torch", "one without a text", "named, too"],
)
def test_rules_may_read_what_dynamo_compiles_around_an_editable_function(
    frames: list[Any], editable: set[str], files: list[str]
) -> None:
    chain = tuple(Frame(one["file"], "f", Span.of(1, 1, 1, 2), one["kind"]) for one in frames)
    site = Break(USER, Span.of(1, 1, 1, 2), "GB0170", "t", "r", "dynamo", chain=chain)
    found = wrapping(site, dict.fromkeys(editable, ""), TEXTS)
    assert found == {file: TEXTS.get(file) for file in files}
