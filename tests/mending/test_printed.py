"""The rule `printed` where code in front of the print may raise: inductor may print first, so that the mend is not safe."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import Style
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

BEFORE = {
    "an index": ("y = t[i]", "`t[i]` may raise"),
    "a module of the model": ("y = self.table(t)", "`self.table(t)` may raise"),
    "an operator that looks up": ("y = torch.nn.functional.embedding(i, t)", "may raise"),
    "a store": ("t[i] = 0", "`t[i]` may raise"),
    "an operator that takes any values": ("y = t.sin() + i", None),
    "another print": ('print("start")', None),
}


@pytest.mark.parametrize(("line", "words"), BEFORE.values(), ids=BEFORE)
def test_what_may_raise_before_the_print_is_a_caution(line: str, words: str | None) -> None:
    body = f'    {line}\n    ⟦print("halfway")⟧\n    return t[i]\n'
    source, site = unmark(f"import torch\n\n\ndef fn(self, t, i):\n{body}", None, "GB0059")
    (mend,) = propose(site, {PATH: source}, ["printed"]).mends
    assert all(words in one for one in mend.cautions) if words else mend.cautions == ()
    assert bool(mend.cautions) is (words is not None)


def test_what_a_loop_runs_before_its_next_print_is_a_caution() -> None:
    body = '    for _ in range(2):\n        ⟦print("halfway")⟧\n        t = t[i]\n    return t\n'
    source, site = unmark(f"import torch\n\n\ndef fn(t, i):\n{body}", None, "GB0059")
    (mend,) = propose(site, {PATH: source}, ["printed"]).mends
    assert "`t[i]` may raise" in mend.cautions[0]


def test_an_import_that_grows_too_long_is_broken() -> None:
    module = "a_package_of_mine.graphmend_support"
    line = f"from {module} import check, defer, runs_deferred"
    source, site = unmark(
        f'import torch\n\n{line}\n\n\ndef fn(x):\n    ⟦print("halfway")⟧\n    return x\n', None, "GB0059"
    )
    for single, new in (
        (False, "import (\n    check,\n    defer,\n    print_in_graph,\n    runs_deferred,\n)\n"),
        (True, f"import check, defer, runs_deferred\nfrom {module} import print_in_graph\n"),
    ):
        style = Style(support=module, line_length=79, single_line=single)
        (mend,) = propose(site, {PATH: source}, ["printed"], styles={PATH: style}).mends
        assert f"\n\nfrom {module} {new}" in apply_edits(source, mend.edits)
