"""The words for a break."""

from __future__ import annotations

import re

import pytest

from graphmend_lsp.analysis.reasons import ADVICE, consequence_of, reason_for, remedy_for

# Every id that constructs, packages and expressions (bench/constructs, bench/packages, bench/spellings.py) were seen to hit on torch 2.11, 2.13 or 2.15.
MEASURED = [
    "GB0006",
    "GB0007",
    "GB0008",
    "GB0013",
    "GB0014",
    "GB0015",
    "GB0025",
    "GB0033",
    "GB0036",
    "GB0039",
    "GB0046",
    "GB0055",
    "GB0059",
    "GB0066",
    "GB0069",
    "GB0070",
    "GB0087",
    "GB0088",
    "GB0091",
    "GB0092",
    "GB0098",
    "GB0108",
    "GB0109",
    "GB0112",
    "GB0116",
    "GB0123",
    "GB0124",
    "GB0125",
    "GB0126",
    "GB0127",
    "GB0134",
    "GB0142",
    "GB0147",
    "GB0156",
    "GB0170",
    "GB0179",
    "GB0180",
    "GB0207",
    "GB0208",
    "GB0225",
    "GB0246",
    "GB0264",
    "GB0277",
    "GB0291",
    "GB0294",
    "GB0296",
    "GB0299",
    "GB0363",
    "GB0467",
    "GB0569",
    "GB4198",
    "GB4315",
    "GB4347",
    "GB4841",
    "GB4880",
    "GB7000",
    "GB7650",
    "GB8335",
    "GB8977",
    "GB8985",
    "GB9186",
    "GB9193",
]


@pytest.mark.parametrize("gb_id", MEASURED)
def test_every_measured_id_has_a_sentence_and_a_remedy(gb_id: str) -> None:
    reason = reason_for(gb_id, "type", "thing(x)")
    assert re.fullmatch(r"[A-Z`].+; .+\.", reason), reason
    assert "report" not in reason
    assert reason.count(";") == 1
    assert remedy_for(gb_id).endswith(".")
    assert "{" not in reason


def test_no_words_without_an_id() -> None:
    assert set(ADVICE) == set(MEASURED)


def test_the_code_is_named_when_it_is_short() -> None:
    assert "`x.sum() > 0`" in reason_for("GB0170", "", "x.sum() > 0")
    assert "`a b`" in reason_for("GB0170", "", "a\n     b")
    assert len(reason_for("GB0170", "", "x" * 500)) < 300
    assert "this code" in reason_for("GB0170", "", "")


def test_braces_in_the_code_stay() -> None:
    assert '`print(f"{y}")`' in reason_for("GB0059", "", 'print(f"{y}")')


def test_an_unknown_id_says_its_type() -> None:
    assert reason_for("GB9999", "Strange thing.", "f()") == "TorchDynamo stops the graph at `f()`: strange thing."
    assert reason_for(None, "", "") == "TorchDynamo stops the graph at this code: a construct it cannot trace."
    assert remedy_for(None) == ""


def test_what_a_block_costs() -> None:
    assert "whole function" in consequence_of("loop")
    assert consequence_of("") == ""


def test_the_code_tells_what_to_do_where_an_id_covers_several_things() -> None:
    assert "output_size" in remedy_for("GB0036", "torch.repeat_interleave(x, counts)")
    assert "minlength" in reason_for("GB0036", "", "torch.bincount(x)")
    assert "torch.where" in remedy_for("GB0036", "x[x > 0]")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("TypeError when making fake tensor call", "`f(x)`: TypeError when making"),
        ("Dynamic shape operator", "`f(x)`: dynamic shape operator"),
        ("RNG state", "`f(x)`: RNG state"),
        ("", "`f(x)`: a construct it cannot trace"),
    ],
)
def test_a_kind_without_words_of_ours_is_told_in_torch_s(kind: str, words: str) -> None:
    assert words in reason_for("GB0000", kind, "f(x)")
