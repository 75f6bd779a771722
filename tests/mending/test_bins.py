"""When the source says that all counted values are among the bins, and what is told when it does not."""

import pytest

from graphmend_lsp.mending import propose

from .conftest import PATH, unmark

PROGRAM = """\
import torch


def fn(x, n):
    i = x.long()
    return ⟦torch.bincount({values}, minlength={bins})⟧ + 1
"""


@pytest.mark.parametrize(
    ("values", "bins", "known"),
    [
        ("i.clamp(0, 7)", "8", True),
        ("i.clamp(min=0, max=7)", "9", True),
        ("torch.clamp(i, 0, n - 1)", "n", True),
        ("i.clip(0, n - 1).flatten()", "n", True),
        ("i % 8", "8", True),
        ("i % n", "n", True),
        ("torch.remainder(i, 5)", "8", True),
        ("i.clamp(0, 8)", "8", False),
        ("i.clamp(max=7)", "8", False),
        ("i.clamp(-1, 7)", "8", False),
        ("i.clamp(0, n)", "n", False),
        ("i.clamp(0, n + 1)", "n", False),
        ("i % 9", "8", False),
        ("i % -3", "8", False),
        ("i % 0", "8", False),
        ("i % n", "n + 1", False),
        ("i % torch.randint(9, ())", "torch.randint(9, ())", None),
        ("(x % 8).long()", "8", False),
        ("i", "8", False),
        ("i.argmax(-1)", "8", False),
    ],
)
def test_bins_that_are_known_to_be_enough(values: str, bins: str, known: bool | None) -> None:
    source, site = unmark(PROGRAM.format(values=values, bins=bins), None, "GB0036")
    mends = propose(site, {PATH: source}, ["bins"]).mends
    assert [not mend.cautions for mend in mends] == ([] if known is None else [known])


def test_a_name_is_followed_to_what_it_was_given() -> None:
    source = "import torch\n\n\ndef fn(x):\n    i = x.long() % 8\n    return ⟦torch.bincount(i, minlength=8)⟧ + 1\n"
    value, site = unmark(source, None, "GB0036")
    assert not propose(site, {PATH: value}, ["bins"]).mends[0].cautions
    value, site = unmark(source.replace("    return", "    i += 1\n    return"), None, "GB0036")
    assert propose(site, {PATH: value}, ["bins"]).mends[0].cautions
