"""JupyterLab with jupyterlab-lsp in a browser, set up as the guide says, with the real server and torch."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from editors import HERE, ROOT, Programs, Tools, block

pytestmark = [pytest.mark.editor, pytest.mark.timeout(200)]

NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.lin(x)
        mark = "𝒜"; y = y * 2 if y.sum() > 0 else y - 1
        return y + 1"""
CELLS = ["import torch\nfrom torch import nn", NET, "model = torch.compile(Net())", "model(torch.randn(4, 8)).shape"]


def test_a_break_is_shown_in_its_cell(tools: Tools, programs: Programs, workspace: Path, tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"c{number}",
            "metadata": {},
            "outputs": [],
            "source": text,
        }
        for number, text in enumerate(CELLS)
    ]
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python", "mimetype": "text/x-python", "file_extension": ".py"},
    }
    book = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (workspace / "nb.ipynb").write_text(json.dumps(book, ensure_ascii=False), "utf-8")
    config = tmp_path / "config"
    config.mkdir()
    guide = (ROOT / "docs" / "guide" / "notebooks.md").read_text("utf-8")
    (config / "jupyter_server_config.json").write_text(block(guide, "`jupyter_server_config.json`"))
    plan = {
        "jupyter": str(tools.jupyter),
        "chromium": str(tools.chromium),
        "folder": str(workspace),
        "config": str(config),
        "home": str(tmp_path),
        "out": str(tmp_path / "out"),
        "name": "nb.ipynb",
        "text": "y.sum() > 0",
        "marked": ["y.sum() > 0"],
        "read": r"No run has reached it yet",
        "run": r"Costs 1 more graph",
        "screenshots": os.environ.get("GRAPHMEND_SCREENSHOTS"),
    }
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    programs = replace(programs, environment={"PATH": path})
    programs.run([str(tools.node), str(HERE / "jupyterlab" / "notebook.mjs"), json.dumps(plan)], cwd=ROOT, seconds=150)
