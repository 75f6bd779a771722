"""What stores before or behind a text that is said at another time: a handler may look at it, and the mend assumes that none does."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose

from .conftest import PATH, unmark

HEAD = "import torch\n\nSEEN = []\nTABLE = {}\nLAST = None\n\n\n"

STORES = {
    "a global": "global LAST\n    LAST = x.shape[0]",
    "a container's method": "SEEN.append(x.shape[0])",
    "an item": "TABLE['last'] = 1",
    "an attribute of an object": "torch.backends.last = 1",
    "an item of a container of its own": "own = {}\n    own['last'] = 1",
    "a name": "LAST = x.shape[0]",
}
OUTSIDE = ("a global", "a container's method", "an item", "an attribute of an object")


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("rule", "first"), [("message", True), ("printed", True), ("defer", False)])
def test_what_is_stored_on_the_other_side_of_a_text_is_not_looked_at(store: str, rule: str, first: bool) -> None:
    said = '⟦print("sum", x.sum().item())⟧' if rule == "printed" else '⟦print("shape", x.shape)⟧'
    parts = (STORES[store], said) if first else (said, STORES[store])
    if rule == "defer" and store == "a global":
        parts = ("global LAST", said, "LAST = x.shape[0]")
    text = f"{HEAD}def fn(x):\n    y = x * 2\n    " + "\n    ".join(parts) + "\n    return y\n"
    value, site = unmark(text, None, "GB0059")
    mends = propose(site, {PATH: value}, [rule]).mends
    assert mends
    assumed = [
        one for mend in mends[-1:] for one in mend.assumes if one.words.startswith("nothing that shows the text")
    ]
    assert [one.kind for one in assumed] == ["message-order"] * (store in OUTSIDE)
