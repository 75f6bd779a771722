"""A real VS Code (code-server and Chromium) with the packaged extension, the real server, and torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from editors import FIXTURES, HERE, ROOT, Programs, Tools

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

SCRIPTS = HERE / "vscode"
BREAK = {"line": 16, "column": 14}
BREAK_TEXT = "y.sum() > 0"
FOLDER_MODEL = """\
import os


def graphmend_entry():
    raise ValueError("this is the interpreter of " + os.environ["GRAPHMEND_WHICH"])
"""
Run = Callable[..., str]


@pytest.fixture
def workbench(tools: Tools, programs: Programs, extensions: Path, workspace: Path, tmp_path: Path) -> Run:
    """Runs one of the scripts in a workbench on the model's folder."""
    plan: dict[str, Any] = {
        "codeServer": str(tools.code_server),
        "chromium": str(tools.chromium),
        "extensions": str(extensions),
        "data": str(tmp_path / "data"),
        "out": str(tmp_path / "out"),
        "folder": str(workspace),
        "name": "gate.py",
        "trust": True,
        "settings": {"graphmend.interpreter": [sys.executable], "graphmend.logLevel": "debug"},
    }

    def run(script: str, **more: Any) -> str:
        told = json.dumps({**plan, **more})
        try:
            return programs.run([str(tools.node), str(SCRIPTS / script), told], cwd=ROOT, seconds=180)
        except BaseException:
            for log in sorted((tmp_path / "data").rglob("*GraphMend*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-8000:]}")
            raise

    return run


def test_a_break_is_seen_mended_and_gone(workbench: Run) -> None:
    workbench(
        "quick_fix.mjs",
        **{"break": BREAK},
        shown="GB0170",
        breaks=1,
        action="Mend graph break",
        mended=(FIXTURES / "gate_branch_mended.py").read_text(),
        left=1,
        screenshots=os.environ.get("GRAPHMEND_SCREENSHOTS"),
    )


NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.lin(x)
        if y.sum() > 0:
            y = y * 2
        return y + 1"""
CELLS = ["# A notebook", "%matplotlib inline\nimport torch\nfrom torch import nn", NET, "model = torch.compile(Net())"]
CELLS += ["x = torch.randn(4, 8)\nmodel(x).shape"]


def test_a_break_of_a_notebook_is_seen_and_mended_in_its_cell(workbench: Run, workspace: Path) -> None:
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text} for text in CELLS
    ]
    cells[0] = {"cell_type": "markdown", "metadata": {}, "source": CELLS[0]}
    metadata = {"language_info": {"name": "python"}}
    written = json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}, indent=1)
    (workspace / "nb.ipynb").write_text(written)
    branch = "        if y.sum() > 0:\n            y = y * 2\n"
    workbench(
        "notebook.mjs",
        name="nb.ipynb",
        shown="GB0170",
        text="y.sum() > 0",
        hover="torch.where",
        action="Mend graph break",
        mended=[text.replace(branch, "        y = torch.where(y.sum() > 0, y * 2, y)\n") for text in CELLS],
        screenshots=os.environ.get("GRAPHMEND_SCREENSHOTS"),
    )


HELPER = """import torch


def choose(y: torch.Tensor) -> torch.Tensor:
    if y.sum() > 0:
        y = y * 2
    return y


def widths(y: torch.Tensor) -> list[int]:
    return sorted(set(y.abs().long().flatten().tolist()))
"""
MAIN = """import helper
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = helper.choose(self.lin(x))
        self.widths = helper.widths(x)
        return y * len(self.widths)


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), (torch.randn(4, 8),)
"""


def test_breaks_are_shown_and_mended_in_the_file_that_they_are_in(workbench: Run, workspace: Path) -> None:
    (workspace / "gate.py").unlink()
    (workspace / "main.py").write_text(MAIN)
    (workspace / "helper.py").write_text(HELPER)
    branch = "    if y.sum() > 0:\n        y = y * 2\n"
    workbench(
        "files.mjs",
        name="main.py",
        helper="helper.py",
        mendable=r"y\.sum\(\) > 0",
        refused=r"tolist[^$]*Not mended: ",
        progress=r"[Vv]erifying|running",
        mended=HELPER.replace(branch, "    y = torch.where(y.sum() > 0, y * 2, y)\n"),
        screenshots=os.environ.get("GRAPHMEND_SCREENSHOTS"),
    )


def test_the_graph_map_is_drawn_goes_to_the_source_and_shows_the_mend(workbench: Run) -> None:
    workbench(
        "graph_map.mjs",
        lens=r"^3 graphs, 2 graph breaks: Mend all$",
        shown="GB0170",
        text=BREAK_TEXT,
        line=BREAK["line"],
        screenshots=os.environ.get("GRAPHMEND_SCREENSHOTS"),
    )


def test_the_api_of_the_extension_host_shows_and_mends(workbench: Run, tmp_path: Path) -> None:
    workbench(
        "extension_host.mjs",
        suite="suite_mend.cjs",
        extension=str(ROOT / "vscode-extension"),
        log=str(tmp_path / "suite.log"),
        seconds=150,
        text=BREAK_TEXT,
        code="GB0170",
        mendedOnce=(FIXTURES / "gate_branch_mended.py").read_text(),
        mendedAll=(FIXTURES / "gate_all_mended.py").read_text(),
        leftAfterAll=[],
    )


def test_the_server_is_installed_on_request_and_endures_crashes(workbench: Run, tmp_path: Path) -> None:
    workbench(
        "extension_host.mjs",
        suite="suite_life.cjs",
        extension=str(ROOT / "vscode-extension"),
        log=str(tmp_path / "suite.log"),
        seconds=150,
        settings={
            "graphmend.interpreter": [sys.executable],
            "graphmend.importStrategy": "useBundled",
            "graphmend.environment.source": str(tmp_path / "no-such-package.whl"),
        },
    )


def test_the_first_start_finds_the_environment_sets_up_the_server_and_helps_to_torch(
    workbench: Run, workspace: Path
) -> None:
    for name in (".venv", "venv"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(workspace / name)], check=True)
    [packages] = (workspace / "venv").glob("lib/python*/site-packages")
    (packages / "torch.pth").write_text(f"{Path(torch.__file__).parent.parent}\n")
    workbench(
        "first_start.mjs",
        settings={"graphmend.logLevel": "debug"},
        breaks=2,
        screenshots=os.environ.get("GRAPHMEND_SCREENSHOTS"),
    )


def test_each_folder_of_a_workspace_has_its_own_interpreter(workbench: Run, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        (folder / ".vscode").mkdir(parents=True)
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nGRAPHMEND_WHICH={folder.name} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        settings = {"graphmend.interpreter": ["${workspaceFolder}/python"]}
        (folder / ".vscode" / "settings.json").write_text(json.dumps(settings))
        (folder / "gate.py").write_text(FOLDER_MODEL)
    file = tmp_path / "both.code-workspace"
    file.write_text(json.dumps({"folders": [{"path": folder.name} for folder in folders]}))
    workbench(
        "extension_host.mjs",
        workspace=str(file),
        suite="suite_folders.cjs",
        extension=str(ROOT / "vscode-extension"),
        log=str(tmp_path / "suite.log"),
        seconds=150,
    )


def test_restricted_mode_runs_nothing_until_trust_is_given(workbench: Run, workspace: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    model = workspace / "gate.py"
    model.write_text(model.read_text() + f"\n\nopen({str(ran)!r}, 'w').close()\n")
    workbench("restricted.mjs", trust=False, ran=str(ran), breaks=2)
