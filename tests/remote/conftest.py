"""A real ssh server on the loopback address with keys of its own; nothing of any user's ``~/.ssh`` is read or written."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CONFIG = """ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PermitUserEnvironment no
PrintMotd no
LogLevel ERROR
"""


@dataclass(frozen=True)
class Box:
    """A machine to log in to; `ssh` are the words that do."""

    ssh: tuple[str, ...]
    python: str = sys.executable


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """The ssh server, up and answering."""
    done = subprocess.run([HERE / "setup.sh"], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    server = shutil.which("sshd") or "/usr/sbin/sshd"
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=60)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where the server shuts its children in
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder))
    log = folder / "log"
    process = subprocess.Popen([server, "-D", "-f", folder / "config", "-E", log], stdin=subprocess.DEVNULL)
    options = ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=accept-new", "LogLevel=ERROR"]
    options += [f"UserKnownHostsFile={folder / 'known_hosts'}", "GlobalKnownHostsFile=/dev/null"]
    words = ["ssh", "-F", "/dev/null", "-i", str(folder / "key"), "-p", str(port)]
    words += [word for option in options for word in ("-o", option)]
    box = Box((*words, "127.0.0.1"))
    try:
        end = time.monotonic() + 30
        while True:
            tried = subprocess.run([*box.ssh, "true"], capture_output=True, text=True, timeout=30)
            if tried.returncode == 0:
                break
            assert process.poll() is None and time.monotonic() < end, tried.stderr + log.read_text()
            time.sleep(0.1)
        yield box
    finally:
        process.terminate()
        process.wait(10)
