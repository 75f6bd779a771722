"""What a mend-all writes: all of its files or none, once, and only while what the verdict stands on is as it was."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine import writing
from graphmend_lsp.engine.files import Staged, UnreadableSourceError
from graphmend_lsp.engine.writing import ChangedError, write_plan
from graphmend_lsp.model import Plan, Report

NOTHING = Report(None, None, None, (), ())
OLD = {"a.py": "a\n", "b.py": "b\n"}


def plan(folder: Path, texts: dict[str, str], loaded: dict[str, str] | None = None) -> Plan:
    new = {str(folder / name): text for name, text in texts.items()}
    old = {path: OLD.get(Path(path).name, "") for path in new}
    stands_on = {str(folder / name): hashlib.sha256(text.encode()).hexdigest() for name, text in (loaded or {}).items()}
    return Plan(NOTHING, NOTHING, (), new, None, old, stands_on=stands_on)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in OLD.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def there(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("texts", "loaded", "since", "written"),
    [
        ({"a.py": "A\n", "s.py": "S\n"}, {"b.py": "b\n", "a.py": "a\n"}, {}, True),
        ({"a.py": "A\n"}, {}, {"a.py": "edited\n"}, False),
        ({"a.py": "A\n"}, {"b.py": "b\n"}, {"b.py": "edited\n"}, False),  # only imported
        ({"a.py": "A\n"}, {"gone.py": "g\n"}, {}, False),
        ({}, {"b.py": "b\n"}, {"b.py": "edited\n"}, True),  # nothing to write
        ({"a.py": "A\n", "s.py": "S\n"}, {}, {"s.py": "S\n"}, True),  # another part wrote the support module
        ({"a.py": "A\n", "s.py": "S\n"}, {}, {"s.py": ""}, True),  # an editor has just created it
        ({"a.py": "A\n", "s.py": "S\n"}, {}, {"s.py": "else\n"}, False),
        ({"a.py": "A\n"}, {"a.py": "a\n"}, {"b.py": "edited\n"}, True),  # of no matter
    ],
)
def test_a_plan_is_written_while_its_files_stand(
    folder: Path, texts: dict[str, str], loaded: dict[str, str], since: dict[str, str], written: bool
) -> None:
    made = plan(folder, texts, loaded)
    for name, text in since.items():
        (folder / name).write_text(text)
    before = there(folder)
    if written:
        write_plan(made)
        assert there(folder) == {**before, **texts}
    else:
        with pytest.raises(ChangedError, match="changed during mending, so no file was written"):
            write_plan(made)
        assert there(folder) == before


def test_a_file_that_cannot_be_written_keeps_all_as_they_were(folder: Path) -> None:
    (folder / "b.py").write_bytes(b"# coding: ascii\n")
    made = plan(folder, {"a.py": "A\n", "b.py": "# coding: ascii\n# \u00e9\n", "s.py": "S\n"})
    made.old[str(folder / "b.py")] = "# coding: ascii\n"
    before = there(folder)
    with pytest.raises(UnreadableSourceError, match="encoding"):
        write_plan(made)
    assert there(folder) == before


def test_a_mode_stays_and_a_new_file_is_as_others(folder: Path) -> None:
    (folder / "a.py").chmod(0o750)
    (folder / "plain").write_text("")
    write_plan(plan(folder, {"a.py": "A\n", "s.py": "S\n"}))
    modes = {name: (folder / name).stat().st_mode & 0o777 for name in ("a.py", "s.py", "plain")}
    assert modes["a.py"] == 0o750 and modes["s.py"] == modes["plain"]


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
def test_an_interrupt_waits_until_every_file_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Staged.put

    class Interrupted(Staged):
        def put(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            put(self)

    stage = writing.stage

    def staged(path: str, text: str) -> Any:
        one = stage(path, text)
        return Interrupted(one.temporary, one.target)

    monkeypatch.setattr(writing, "stage", staged)
    with pytest.raises(KeyboardInterrupt):
        write_plan(plan(folder, {"a.py": "A\n", "b.py": "B\n", "s.py": "S\n"}))
    assert there(folder) == {"a.py": "A\n", "b.py": "B\n", "s.py": "S\n"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
