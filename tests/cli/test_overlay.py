"""mend --overlay: a break inside an installed package is mended in the user's project, and the package stays as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit import MAIN, MODEL, install

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    install(tmp_path)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text(MAIN)
    return tmp_path


def _graphmend(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(project / "site-packages")}
    command = [sys.executable, "-m", "graphmend_lsp", *words, "--quiet", "--device", "cpu"]
    return subprocess.run(command, capture_output=True, text=True, cwd=project / "app", env=environment, check=False)


def _json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def test_an_installed_package_is_mended_in_the_project(project: Path) -> None:
    told = _graphmend(project, "mend", "main.py", "--overlay")
    assert "torch.where(x.sum() > 0, x * 2, x)" in told.stdout
    assert not (project / "app" / "graphmend_overlay").exists()
    done = _graphmend(project, "mend", "main.py", "--overlay", "--write", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert _json(done)["verified"]["safety"] == "safe"
    assert (project / "site-packages" / "kit" / "model.py").read_text() == MODEL
    assert (project / "app" / "main.py").read_text().startswith('"""Uses the kit."""\nimport graphmend_overlay')
    after = _graphmend(project, "check", "main.py", "--json")
    assert after.returncode == 0, after.stderr
    [entry] = _json(after)["entries"]
    assert (entry["graphs"], entry["error"]) == (1, None)


def test_without_the_option_nothing_of_a_package_is_touched(project: Path) -> None:
    done = _graphmend(project, "mend", "main.py", "--write", "--json")
    assert done.returncode == 1
    assert _json(done)["edits"] == []
    assert (project / "app" / "main.py").read_text() == MAIN


def test_a_package_alone_is_refused_before_anything_runs(project: Path) -> None:
    done = _graphmend(project, "mend", str(project / "site-packages" / "kit" / "model.py"), "--overlay")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "graphmend-lsp: name a file of yours that uses the package; it must import the mended copies\n"
    )
