"""The hint rule: what torch refuses to trace is left out of compiled code, and given as before elsewhere."""

from __future__ import annotations

import pytest
import torch

from graphmend_lsp.mending.rules.hint.examples import EXAMPLES

from .conftest import function_of, mended, unmark

CALLS = ((torch.randn(3),), ([torch.randn(3), torch.randn(2)],), (torch.randn(3),))


@pytest.mark.parametrize(("case", "call"), list(zip(EXAMPLES, CALLS, strict=True)), ids=[one.title for one in EXAMPLES])
def test_the_mended_program_is_one_graph_and_the_original_is_refused(case: object, call: tuple[object, ...]) -> None:
    source, site = unmark(case.before, gb_id=case.gb_id)  # type: ignore[attr-defined]
    before, after = function_of(source), function_of(mended("hint", source, site))
    torch._dynamo.reset()
    with pytest.raises(AssertionError, match="forbidden callable"):
        torch.compile(before, backend="eager")(*call)
    torch._dynamo.reset()
    assert torch.equal(torch.compile(after, backend="eager", fullgraph=True)(*call), before(*call))


def test_uncompiled_code_gives_the_hint() -> None:
    source, site = unmark(EXAMPLES[0].before.replace("return state + x", "return state"), gb_id="-")
    (state,) = (function_of(mended("hint", source, site))(torch.randn(3)),)
    assert vars(state) == vars(function_of(source)(torch.randn(3))) != {}
