"""Constructs and packages: the data is whole, rows are judged rightly, and the pages are of this data."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "constructs"), str(BENCH / "packages")]

import catalogue  # noqa: E402
import constructs_page  # noqa: E402
import packages_page  # noqa: E402
from mended import Row, Site, problems, read_rows, write_rows  # noqa: E402

LEFT = Site("x.item()", "a.py:3", "GB0124", "item", (), (("item", "`x.item()` is returned."), ("isolate", "Nothing.")))
OFFERED = replace(LEFT, mends=(("item", "unsafe", "it is rounded"),))
ROW = Row("numbers", "item_returned", "0", "", (LEFT,), (LEFT,), (2, 1, 0), (2, 1, 0), (), ())


def test_every_construct_is_a_program_of_its_own() -> None:
    every = catalogue.constructs()
    assert len({one.name for one in every}) == len(every) > 250
    for one in every:
        tree = ast.parse(one.source)
        assert isinstance(tree.body[-1], ast.FunctionDef) and tree.body[-1].name == "graphmend_entry"


def test_the_page_of_constructs_has_every_construct() -> None:
    page = (ROOT / "docs" / "constructs.md").read_text("utf-8")
    missing = [one.name for one in catalogue.constructs() if constructs_page.name_of(one.name) not in page]
    assert missing == []
    assert "guide.md" not in page and f"{len(catalogue.constructs())} constructs" in page


def test_the_page_of_packages_names_every_entry() -> None:
    page = (ROOT / "docs" / "packages.md").read_text("utf-8")
    files = sorted((BENCH / "packages" / "entries").glob("*_entries.py"))
    assert len(files) >= 8
    for file in files:
        functions = [node.name for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
        names = [name.removeprefix("graphmend_entry_") for name in functions if name.startswith("graphmend_entry_")]
        assert names and [name for name in names if name.replace("_", " ") not in page] == []
        assert file.name.removesuffix("_entries.py") in page


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "reason"),
        ({"sites": (), "left": ()}, "no break"),
        ({"left": (), "rules": ("where",)}, "safe"),
        ({"left": (), "rules": ("mask", "isolate")}, "boundary"),
        ({"rules": ("defer",)}, "fewer"),
        ({"left": (OFFERED,)}, "told"),
        ({"left": (OFFERED, LEFT)}, "reason"),
        ({"failure": "ImportError"}, "failed"),
    ],
)
def test_outcomes(changes: dict[str, object], outcome: str) -> None:
    assert replace(ROW, **changes).outcome == outcome  # type: ignore[arg-type]


def test_what_must_not_be_is_told() -> None:
    assert problems(ROW) == []
    assert "does not run: no torch" in problems(replace(ROW, failure="no torch"))[0]
    assert "a safe mend differs: outputs" in problems(replace(ROW, differs=("outputs",)))[0]
    assert "neither a mend nor a reason" in problems(replace(ROW, left=(replace(LEFT, declined=()),)))[0]


def test_rows_are_kept_as_they_are(tmp_path: Path) -> None:
    rows = [ROW, replace(ROW, name="other", left=(OFFERED,), told=("it is rounded",))]
    write_rows(tmp_path / "rows.json", rows)
    assert read_rows(tmp_path / "rows.json") == rows
    assert read_rows(tmp_path / "none.json") == []


def test_pages_say_the_reason_of_the_rule_that_is_about_it() -> None:
    told = replace(ROW, name="rounded", left=(OFFERED,))
    page = constructs_page.page([ROW, told])
    assert "| item returned | `x.item()` | reason | `item`: `x.item()` is returned. |" in page
    assert "`item` offers, unsafe: it is rounded" in page
    assert "2 constructs, 2 break: mended 0, fewer 0, boundary 0, told 1, reason 1" in page
    page = packages_page.page([replace(ROW, group="zuko")], {"zuko": "1.2"})
    assert "| zuko 1.2 | item returned | 2 / 1 / 0 | 2 / 1 / 0 |  |" in page and "a.py:3" in page


@pytest.mark.slow
def test_a_wrong_mend_is_found_by_other_calls(tmp_path: Path) -> None:
    right = (
        "import torch\n\n\ndef f(x):\n    if x.sum() > 0:\n        return x + 1\n    print('low')\n    return x.abs()\n\n\n"
        "def graphmend_entry():\n    return f, (torch.arange(1.0, 5.0),)\n"
    )
    texts = {"right": right, "wrong": right.replace("x.abs()", "x.abs() * 2"), "mute": right.replace("print", "repr")}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    pairs = [[str(tmp_path / "right.py"), str(tmp_path / f"{name}.py")] for name in texts]
    words = [sys.executable, str(BENCH / "constructs" / "other_calls.py")]
    done = subprocess.run(words, input=json.dumps(pairs), capture_output=True, text=True, check=True)
    same, wrong, mute = json.loads(done.stdout)
    assert same == []
    assert any("outputs" in words for words in wrong) and any("gradients" in words for words in wrong)
    assert mute and all("text: 'low" in words for words in mute)


@pytest.mark.slow
def test_constructs_are_mended_and_told() -> None:
    words = [sys.executable, str(BENCH / "constructs"), "--only", "if_else,print_tensor,json_text,seconds,if_size"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 constructs, 4 break: mended 2, fewer 1, boundary 0, told 0, reason 1" in done.stdout


@pytest.mark.slow
def test_a_package_that_is_not_there_is_told() -> None:
    words = [sys.executable, str(BENCH / "packages"), "--only", "nflows"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2 and "nflows is not installed" in done.stderr
