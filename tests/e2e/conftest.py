"""Real editors: what they need to be installed, a folder with a model for each test, and the packaged extension."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from editors import FIXTURES, ROOT, Programs, Tools


@pytest.fixture(scope="session")
def tools() -> Tools:
    """The installed tools; a message with the command that installs them when one is missing."""
    folder = Path(os.environ.get("GRAPHMEND_TOOLS", ROOT / ".tools"))
    found = Tools(
        node=folder / "node" / "bin" / "node",
        code_server=folder / "code-server" / "node_modules" / "code-server",
        chromium=Path(shutil.which("chromium") or "chromium"),
        nvim=Path(shutil.which("nvim") or "nvim"),
        nvim_10=folder / "newer" / "trixie" / "nvim",
        nvim_12=folder / "newer" / "forky" / "nvim",
        emacs=Path(shutil.which("emacs") or "emacs"),
        helix=folder / "newer" / "forky" / "hx",
        tmux=Path(shutil.which("tmux") or "tmux"),
        kate=Path(shutil.which("kate") or "kate"),
        jupyter=folder / "jupyter" / "bin" / "jupyter",
        xvfb=Path(shutil.which("Xvfb") or "Xvfb"),
        xdotool=Path(shutil.which("xdotool") or "xdotool"),
        openbox=Path(shutil.which("openbox") or "openbox"),
        dbus=Path(shutil.which("dbus-run-session") or "dbus-run-session"),
    )
    missing = [str(path) for path in dataclasses.astuple(found) if not path.exists()]
    missing += [str(path) for path in [ROOT / "node_modules" / "playwright-core"] if not path.exists()]
    if missing:
        pytest.fail(f"missing: {', '.join(missing)}; run tests/e2e/setup.sh first")
    return found


@pytest.fixture
def programs() -> Iterator[Programs]:
    """Runs programs; whatever is left of them is ended with the test."""
    started = Programs(mark=uuid.uuid4().hex)
    yield started
    started.end()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a fresh copy of the model."""
    folder = tmp_path / "model"
    folder.mkdir()
    shutil.copy(FIXTURES / "gate.py", folder)
    return folder


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as it would be published."""
    path = tmp_path_factory.mktemp("vsix") / "graphmend.vsix"
    done = subprocess.run(
        ["npm", "run", "-s", "package", "--", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return path


@pytest.fixture(scope="session")
def extensions(tools: Tools, vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed VS Code extensions, with this one."""
    home = tmp_path_factory.mktemp("code-server")
    command = [str(tools.node), str(tools.code_server / "out/node/entry.js"), "--install-extension", str(vsix)]
    command += ["--extensions-dir", str(home / "extensions"), "--user-data-dir", str(home / "data")]
    done = subprocess.run(
        [*command, "--config", str(home / "config.yaml")],
        env={**os.environ, "HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return home / "extensions"
