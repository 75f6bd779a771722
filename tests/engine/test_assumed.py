"""What becomes of assumptions: declared, discharged by a probe, accepted by the user, or open, which makes a mend unsafe."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmend_lsp.engine.assumed import kind_of, standing_of
from graphmend_lsp.engine.declared import declared
from graphmend_lsp.engine.entries import BadEntryError, read_config
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.project_texts import is_named_elsewhere
from graphmend_lsp.engine.verdicts import judge
from graphmend_lsp.model import ASSUMPTIONS, Assumption, Mend, Span
from graphmend_lsp.worker.wire import CandidateResult, CountsData, Difference

BROKEN = Difference(
    what="output",
    where="[0]",
    call="call 1 with model cast",
    detail="a became b",
    severity="exception",
    assumes="dtype",
)


def result(*differences: Difference, probed: tuple[str, ...] = (), untried: tuple[str, ...] = ()) -> CandidateResult:
    cut = CountsData(graphs=2, breaks=1, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)
    return CandidateResult(
        id="0", before=cut, after={**cut, "graphs": 1, "breaks": 0}, outputs="bit-equal", gradients="bit-equal",
        state="bit-equal", effects="equal", rounded=[], differences=list(differences), unlike_sides=[], sides=[], events=[],
        graphs=[], calls=4, seconds=1.0, failure=None, probed=list(probed), untried=list(untried),
    )  # fmt: skip


def mend(*assumes: Assumption) -> Mend:
    return Mend("where", "Use torch.where", "/a.py", Span.of(1, 1, 1, 2), (), assumes=assumes)


def test_what_a_probe_found_makes_a_mend_unsafe_and_never_wrong() -> None:
    verdict = judge(result(BROKEN), [mend()], Sources({}))
    assert (verdict.safety, [one.kind for one in verdict.assumes]) == ("unsafe", ["dtype"])
    assert verdict.reasons == (
        "assumes that the dtype of the model and its inputs stays the same (output [0] in call 1 with model cast: a became b)",
    )
    assert verdict.assuming == "assumes that the dtype of the model and its inputs stays the same"


def test_a_declared_assumption_is_open_until_a_probe_discharges_it() -> None:
    one = Assumption("late-reading", "nothing changes `settings` before forward returns")
    verdict = judge(result(), [mend(one)], Sources({}))
    assert (verdict.safety, verdict.assumes, verdict.discharged) == ("unsafe", (one,), ())
    assert verdict.reasons == ("assumes that nothing changes `settings` before forward returns",)
    verdict = judge(result(probed=("late-reading",)), [mend(one)], Sources({}))
    assert (verdict.safety, verdict.assumes, verdict.discharged) == ("safe", (), (one,))
    assert judge(result(), [mend()], Sources({}), written=[one]).safety == "unsafe"


def test_a_broken_assumption_is_not_discharged_by_its_own_probe() -> None:
    standing = standing_of(result(BROKEN, probed=("dtype",)), [mend(Assumption("dtype"))])
    assert [one.kind for one in standing.open] == ["dtype"] and standing.discharged == ()


def test_what_the_user_accepts_counts_as_safe_and_is_told() -> None:
    verdict = judge(result(BROKEN), [mend()], Sources({}), ["dtype"])
    assert (verdict.safety, verdict.assumes, [one.kind for one in verdict.accepted]) == ("safe", (), ["dtype"])


def test_a_verdict_cut_short_is_not_safe() -> None:
    verdict = judge(result(untried=("floats in float16", "other sizes", "a", "b")), [mend()], Sources({}))
    assert verdict.safety == "unsafe"
    assert "that the time limit left untried (floats in float16; other sizes; a and 1 more)" in verdict.reasons[0]
    assert judge(result(untried=("a",), probed=("not-tried",)), [mend()], Sources({})).safety == "unsafe"


def test_a_wrong_mend_stays_wrong() -> None:
    grave = Difference(what="output", where="", call="call 1", detail="1 became 2", severity="different")
    verdict = judge(result(grave, BROKEN), [mend()], Sources({}))
    assert verdict.safety == "wrong" and verdict.reasons[0].startswith("output")
    assert verdict.assuming == ""


def test_kinds_are_a_closed_list() -> None:
    assert kind_of("dtype") == "dtype" and kind_of("anything") is None and kind_of("") is None
    odd = Difference(what="output", where="", call="call 1", detail="", severity="exception", assumes="nonsense")
    assert standing_of(result(odd), []).open == ()
    assert all(not words.endswith(".") and words[0].islower() for words in ASSUMPTIONS.values())


OLD = "class A:\n    def f(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("new", "kinds"),
    [
        ("class A:\n    def f(self, x, n=None):\n        return x\n", ["callers"]),
        ("class A:\n    def f(self, x):\n        return x + 1\n    def g(self, x, n):\n        pass\n", []),
        (
            "import torch\n@torch.library.custom_op(f'{__name__}::c', mutates_args=())\ndef c(x): ...\n" + OLD,
            ["one-name"],
        ),
        (
            "import torch\n@torch.library.custom_op(f'{__name__}{hash(__file__)}::c', mutates_args=())\ndef c(x): ...\n"
            + OLD,
            [],
        ),
        ("def (", []),
    ],
)
def test_what_a_mend_writes_declares_what_it_assumes(new: str, kinds: list[str]) -> None:
    found = declared({"/a.py": OLD}, {"/a.py": new})
    assert [one.kind for one in found] == kinds
    assert declared({"/a.py": new}, {"/a.py": new}) == ()


_CUT = "def _cut(x):\n    return x\n\n\ndef fn(x):\n    return {}\n"


@pytest.mark.parametrize(
    ("before", "elsewhere", "open_"),
    [
        (_CUT.format("_cut(x)"), False, ""),
        (_CUT.format("_cut(x)"), True, "_cut"),
        (
            _CUT.format("_cut(x)").replace("_cut", "cut"),
            False,
            "cut",
        ),  # public: replaced, inspected, wrapped by anybody
        (_CUT.format("functools.partial(_cut, x)()"), False, "_cut"),
        (_CUT.format("getattr(sys.modules[__name__], '_cut')(x)"), False, "_cut"),
        (_CUT.format("globals()['_' + 'cut'](x)"), False, "_cut"),
        (_CUT.format("map(_cut, [x])"), False, "_cut"),
        (_CUT.format("_cut(*x)") + "\n\nif FAST:\n    _cut = abs\n", False, "_cut"),
        (_CUT.format("_cut(x)").replace("def _cut", "@cache\ndef _cut"), False, "_cut"),
        (_CUT.format("_cut(x), inspect.signature(fn)"), False, "_cut"),
        (
            "class A:\n    def _f(self, x):\n        return x\n    def g(self, x):\n        return self._f(x)\n",
            False,
            "",
        ),
        (
            "class A:\n    def _f(self, x):\n        return x\n    def g(self, x):\n        return x.a._f(x)\n",
            False,
            "A._f",
        ),
        ("class A:\n    def _f(self, x): ...\nclass B(A): ...\nclass C(B):\n    def _f(self, y): ...\n", False, "A._f"),
        ("class A:\n    def _f(self, x): ...\nclass Mixin:\n    _f = None\nclass C(Mixin, A): ...\n", False, "A._f"),
        ("class P(Protocol):\n    def run(self, x): ...\n", False, "P.run"),
        ("def outer(x):\n    def cut(x):\n        return x\n    return cut(x)\n", True, ""),
        ("def outer(x):\n    def cut(x):\n        return x\n    return cut\n", True, "outer.<locals>.cut"),
    ],
)
def test_who_may_call_a_function_with_one_parameter_more(before: str, elsewhere: bool, open_: str) -> None:
    first = "cut(x" if "cut(x" in before else "(self, x"
    after = before.replace(first, first + ", n=None", 1)
    found = declared({"/a.py": before}, {"/a.py": after}, lambda _path, _name: elsewhere)
    expected = [f"every caller and override of `{open_}` accepts `n`"] if open_ else []
    assert [one.words for one in found] == expected


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"b.py": "import a\n", "c/d.py": "x = cut_off\n"}, False),
        ({"b.py": "import a\na._cut = abs\n"}, True),
        ({"deep/er/b.py": "from unittest import mock\nmock.patch('a._cut')\n"}, True),
    ],
)
def test_a_name_is_looked_for_in_the_whole_project(tmp_path: Path, files: dict[str, str], found: bool) -> None:
    for name, text in {"pyproject.toml": "", "a.py": "def _cut(x): ...\n", **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert is_named_elsewhere(str(tmp_path / "a.py"), "_cut") is found
    assert is_named_elsewhere("a.py", "_cut")


def test_a_method_with_one_parameter_more_names_it_and_its_place() -> None:
    (found,) = declared({"/a.py": OLD}, {"/a.py": OLD.replace("x)", "x, n=None)")})
    assert found.words == "every caller and override of `A.f` accepts `n`"
    assert found.places == (("/a.py", Span.of(2, 5, 2, 8)),)


def test_a_project_accepts_kinds_that_there_are(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.graphmend]\nassume = ["warning-filters", "one-name"]\n')
    assert read_config(str(tmp_path)).assume == ("warning-filters", "one-name")
    file.write_text('[tool.graphmend]\nassume = ["warnings"]\n')
    with pytest.raises(BadEntryError, match=r"assume must be a list of these: dtype, device"):
        read_config(str(tmp_path))


def test_the_guide_has_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "mending.md").read_text("utf-8")
    assert all(f"| `{kind}` | {words} |" in page for kind, words in ASSUMPTIONS.items())
