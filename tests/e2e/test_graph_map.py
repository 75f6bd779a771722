"""The page of `--format html` in a real browser, at 3 and at 300 graphs: what is drawn, the keyboard, names, themes, policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from editors import HERE, ROOT, Programs, Tools

from graphmend_lsp.model import Break, Entry, EntryResult, Finding, Frame, Graph, Mode, Report, Span, Stop
from graphmend_lsp.report.graph_map import graph_map
from graphmend_lsp.report.page import page

pytestmark = [pytest.mark.editor, pytest.mark.timeout(120)]

PATH = "/p/größe net.py"
LIBRARY = "/env/lib/python3.11/site-packages/lib/layers.py"


def report(graphs: int) -> Report:
    """An entry in both modes: a break after each graph but the last, each third at the same place; the first skips a frame."""
    pieces: list[Graph | Stop] = []
    sites: dict[Span, Break] = {}
    modes: tuple[Mode, ...] = ("eval", "train")
    for number in range(graphs):
        pieces.append(Graph(number * 37 % 700 + 1, "Net.forward", PATH, 3))
        if number == graphs - 1:
            break
        span = Span.of(10 + number % 3 * number, 5, 10 + number % 3 * number, 20)
        chain = (Frame(PATH, "Net.forward", span), *(Frame(LIBRARY, f"call{depth}", span) for depth in range(12)))
        outside = ("Net.forward", PATH, 3, 90) if number == 0 else None
        code = ("GB0170", "Data-dependent branching")
        pieces.append(
            Stop(PATH, span, *code, "resumed", f"if x[{number}].sum() > 0:", outside=outside, chain=chain)
        )  # fmt: skip
        reason = f"What runs next depends on `x[{number}]`."
        sites[span] = Break(
            PATH, span, *code, reason, "dynamo", outcome="resumed", graphs=1, entries=("größe net.py:f",), modes=modes,
            chain=chain,
        )  # fmt: skip
    ops = tuple(piece.ops for piece in pieces if isinstance(piece, Graph))
    results = tuple(EntryResult(Entry(PATH, "f"), mode, graphs, 1, ops, strip=tuple(pieces)) for mode in modes)
    return Report("2.13.0", "3.11.7", "cpu", results, tuple(map(Finding, sites.values())))


@pytest.mark.parametrize("graphs", [3, 300])
def test_the_page_in_a_browser(tools: Tools, programs: Programs, tmp_path: Path, graphs: int) -> None:
    told = graph_map(report(graphs))
    file = tmp_path / "map.html"
    file.write_text(page(told), "ascii")
    plan = {
        "chromium": str(tools.chromium),
        "page": file.as_uri(),
        "out": str(tmp_path),
        "graphs": graphs,
        "pieces": len(told["programs"][0]["strips"][0]["pieces"]),
        "places": len(told["places"]),
    }
    programs.run([str(tools.node), str(HERE / "browser" / "graph_map.mjs"), json.dumps(plan)], cwd=ROOT, seconds=60)
