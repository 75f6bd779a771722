"""When entries are made up: only where nobody told or wrote one; and what failing to make one counts for."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmend_lsp import cli
from graphmend_lsp.engine.entries import entries_in, excused
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.model import Entry, EntryKind, EntryResult, Failure, Report

MODULE = "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
WRITTEN = MODULE + "def graphmend_entry(): ...\n"


def test_only_where_there_is_none(tmp_path: Path) -> None:
    plain, written = str(tmp_path / "plain.py"), str(tmp_path / "written.py")
    sources = Sources({plain: MODULE, written: WRITTEN})
    assert entries_in((plain, written), (), sources) == (Entry(written, "graphmend_entry"),)
    found = entries_in((plain, written), (), sources, made_up=True)
    assert found == (Entry(plain, "Net", "module"), Entry(written, "graphmend_entry"))
    told = Entry(plain, "mine")
    assert entries_in((plain, written), (told,), sources, made_up=True) == (told, Entry(written, "graphmend_entry"))


@pytest.mark.parametrize(
    ("kind", "stage", "failed", "becomes"),
    [
        ("module", "load", "import", "no-inputs"),
        ("compiled", "entry", "exception", "no-inputs"),
        ("transformers", "entry", "no-inputs", "no-inputs"),
        ("module", "call", "exception", "exception"),
        ("module", "worker", "no-torch", "no-torch"),
        ("function", "load", "import", "import"),
    ],
)
def test_what_kept_a_made_up_entry_from_being_made_is_no_error(
    kind: EntryKind, stage: str, failed: str, becomes: str
) -> None:
    entry = Entry("/a/b.py", "Net", kind)
    failure = Failure(stage, failed, "It went wrong.", "Do this.")  # type: ignore[arg-type]
    result = excused(entry, failure)
    assert result is not None
    assert result.kind == becomes
    assert "It went wrong" in result.message
    report = Report("2.13", "3.11", "cpu", (EntryResult(entry, "eval", 0, 0, (), result),), (), (result,))
    assert cli.exit_code(report) == (cli.DONE if becomes == "no-inputs" else cli.ERROR)


def test_nothing_to_excuse() -> None:
    assert excused(Entry("/a/b.py", "Net", "module"), None) is None
