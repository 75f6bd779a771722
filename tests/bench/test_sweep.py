"""The sweep: its rows are kept and summed rightly, and its shards share no file and lose none."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "sweep")]

from mended import Row, Site  # noqa: E402
from sweep_page import page, totals  # noqa: E402
from swept import Swept, append, read  # noqa: E402

LEFT = Site("x.item()", "a.py:3", "GB0124", "item", (), (("item", "`x.item()` is returned."),))
ROW = Row("odd", "a.py", "1", "", (LEFT,), (LEFT,), (2, 1, 0), (2, 1, 0), (), ())
KEPT = Swept("a.py", "odd", "1", "Net", late=False, seconds=2.0, row=ROW)


def _with(**changes: object) -> Swept:
    return replace(KEPT, row=replace(ROW, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "outcome", "after"),
    [
        (KEPT, "stays", 1),
        (_with(sites=(), left=(), before=(1, 0, 0), after=(1, 0, 0)), "whole", 0),
        (_with(left=(), after=(1, 0, 0), rules=("item",)), "mended", 0),
        (_with(before=(3, 2, 0), rules=("item",)), "fewer", 1),
        (_with(rules=("isolate",)), "stays", 1),
        (_with(failure="it raises"), "fails", 1),
        (Swept.nothing("a.py", "odd", "1"), "no input", 0),
    ],
)
def test_how_far_a_file_is_mended(row: Swept, outcome: str, after: int) -> None:
    assert (row.outcome, row.after) == (outcome, after)


def test_rows_are_kept_one_a_line_and_a_cut_off_line_is_lost_alone(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    append(file, KEPT)
    append(file, replace(KEPT, name="b.py"))
    append(file, replace(KEPT, seconds=3.0))
    with file.open("a", encoding="utf-8") as out:
        out.write('{"name": "c.py", "half": "od')
    assert read(file) == [replace(KEPT, seconds=3.0), replace(KEPT, name="b.py")]
    assert read(tmp_path / "none.jsonl") == []


def test_both_halves_are_summed_and_only_the_odd_half_is_shown() -> None:
    even = replace(KEPT, name="b.py", half="even", row=replace(ROW, left=(replace(LEFT, text="secret"),)))
    mended = replace(_with(left=(), after=(1, 0, 0), rules=("item",)), name="c.py")
    sums = [line.split(" | ") for line in totals([KEPT, even, mended]).splitlines()[2:]]
    assert [line[8:12] for line in sums] == [["2", "1", "50%", "50%"], ["1", "1", "0%", "0%"], ["3", "2", "33%", "33%"]]
    text = page("transformers", "1", [KEPT, even, replace(mended, late=True)], 5, 200.0)
    assert "secret" not in text and "x.item()" in text and "This page has 3 of 5 files." in text
    assert "--seconds 200 " in text and "2, out of time |" in text


def _main() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sweep_main", BENCH / "sweep" / "__main__.py")
    assert spec is not None and spec.loader is not None
    main = importlib.util.module_from_spec(spec)
    sys.modules["sweep_main"] = main
    spec.loader.exec_module(main)
    return main


def test_shards_of_one_command_share_no_file_and_lose_none() -> None:
    main = _main()
    every = [main.Target(number, f"{number}.py", ()) for number in range(1, 48)]
    for half, match, step in ((None, "", 1), ("odd", "", 3), (None, "1", 2)):
        whole = main.share(every, None, half, match, step)
        parts = [main.share(every, main.parse_shard(f"{part}/3"), half, match, step) for part in (1, 2, 3)]
        assert sorted(one.number for part in parts for one in part) == [one.number for one in whole]


def test_the_programs_of_a_folder_are_numbered_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("def graphmend_entry():\n    return abs, [(1,)]\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("")
    found, version = _main().programs(tmp_path)
    assert [(one.name, one.half, [each.function for each in one.entries]) for one in found] == [
        ("a.py", "odd", []),
        ("b.py", "even", ["graphmend_entry"]),
    ]
    (tmp_path / "a.py").write_text("x = 2\n")
    assert _main().programs(tmp_path)[1] != version
