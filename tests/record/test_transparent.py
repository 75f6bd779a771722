"""Recording a command changes nothing about it: no torch here, so these are quick."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = sys.executable


def command(*words: str) -> list[str]:
    return [PYTHON, "-m", "graphmend_lsp", "record", "--", *words]


def run(state: Path, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "GRAPHMEND_STATE_DIR": str(state), **env}
    return subprocess.run(
        command(*words), input=stdin, capture_output=True, text=True, env=environ, timeout=120, check=False, cwd=state
    )


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_exit_status(tmp_path: Path, status: int) -> None:
    assert run(tmp_path, PYTHON, "-c", f"raise SystemExit({status})").returncode == status


def test_streams_and_folder(tmp_path: Path) -> None:
    shown = run(tmp_path, PYTHON, "-c", "import os; print(input(), os.getcwd(), end='')", stdin="from stdin\n")
    assert shown.stdout == f"from stdin {tmp_path}"
    assert "No process used torch.compile." in shown.stderr


def test_sys_path_and_modules_are_as_without_us(tmp_path: Path) -> None:
    code = "import sys; print(sys.path, sorted(m for m in sys.modules if 'custom' in m or 'graphmend' in m))"
    mine = str(tmp_path / "mine")
    recorded = run(tmp_path, PYTHON, "-c", code, PYTHONPATH=mine).stdout
    plain = subprocess.run(
        [PYTHON, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": mine}, cwd=tmp_path, check=True
    ).stdout  # fmt: skip
    assert recorded.replace("['sitecustomize']", "[]") == plain.replace("['sitecustomize']", "[]")


@pytest.mark.parametrize("failing", [False, True])
def test_the_user_s_own_sitecustomize_runs(tmp_path: Path, failing: bool) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("MARK = 5\n" + ("raise ValueError('broken')\n" if failing else ""))
    shown = run(tmp_path, PYTHON, "-c", "import sitecustomize; print(sitecustomize.MARK)", PYTHONPATH=str(own))
    assert ("broken" in shown.stderr) == failing
    assert shown.stdout == ("" if failing else "5\n")


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_flags_that_switch_recording_off_are_said(tmp_path: Path, flag: str) -> None:
    shown = run(tmp_path, PYTHON, flag, "-c", "print('ran')")
    assert (shown.stdout, shown.returncode) == ("ran\n", 0)
    assert "GraphMend recorded nothing" in shown.stderr


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    shown = run(tmp_path, "no-such-program-at-all")
    assert (shown.returncode, shown.stderr) == (127, "graphmend-lsp: no-such-program-at-all was not found\n")


def test_a_script_that_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    shown = run(tmp_path, "./train.py")
    assert shown.returncode == 126
    assert "write `python` before a script" in shown.stderr


def test_no_command(tmp_path: Path) -> None:
    shown = run(tmp_path)
    assert shown.returncode == 2
    assert "Name the command to record" in shown.stderr


FAKE_TORCH = {
    "torch/__init__.py": "__version__ = '1.13'\n",
    "torch/_dynamo/__init__.py": "from torch._dynamo import convert_frame\nREADY = 1\n",
    "torch/_dynamo/convert_frame.py": "",
    "torch/_dynamo/exc.py": "class Unsupported(Exception):\n    pass\n",
}


def test_a_torch_that_lacks_hooks_is_named_and_the_program_goes_on(tmp_path: Path) -> None:
    for name, text in FAKE_TORCH.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    packages = str(tmp_path / "packages")
    shown = run(tmp_path, PYTHON, "-c", "import torch._dynamo as d; print(d.READY, d.__file__)", PYTHONPATH=packages)
    assert shown.stdout == f"1 {packages}/torch/_dynamo/__init__.py\n"
    assert "GraphMend cannot record torch 1.13: it lacks " in shown.stderr
    assert "torch._dynamo.symbolic_convert" in shown.stderr


@pytest.mark.parametrize("damage", ["import sys; sys.exit(3)", "raise ValueError('mine')"])
def test_a_torch_that_cannot_be_imported_fails_as_without_us(tmp_path: Path, damage: str) -> None:
    (tmp_path / "torch" / "_dynamo").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "_dynamo" / "__init__.py").write_text(damage)
    code = "import torch._dynamo"
    plain = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)
    shown = run(tmp_path, PYTHON, "-c", code)
    assert shown.returncode == plain.returncode != 0
    assert ("ValueError: mine" in shown.stderr) == ("mine" in damage)


def test_nothing_is_kept_of_a_command_that_compiled_nothing(tmp_path: Path) -> None:
    environ = {**os.environ, "GRAPHMEND_STATE_DIR": str(tmp_path)}
    words = [PYTHON, "-m", "graphmend_lsp", "record", "--here", "--", PYTHON, "-c", "pass"]
    subprocess.run(words, env=environ, cwd=tmp_path, check=True, timeout=60, capture_output=True)
    assert list(tmp_path.iterdir()) == []


LIVES = "import os, signal, sys, time; {}; print('up', flush=True); {}\ntime.sleep(60)"
HANDLED = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))"


@pytest.mark.parametrize(
    ("first", "then", "sent", "status"),
    [
        (HANDLED, "0", signal.SIGTERM, 9),
        ("0", "0", signal.SIGTERM, -signal.SIGTERM),
        ("0", "0", signal.SIGHUP, -signal.SIGHUP),
        ("0", "os.kill(os.getpid(), signal.SIGKILL)", None, -signal.SIGKILL),
        ("0", "os.kill(os.getpid(), signal.SIGSEGV)", None, -signal.SIGSEGV),
    ],
)
def test_signals_and_the_way_a_program_ends(
    tmp_path: Path, first: str, then: str, sent: int | None, status: int
) -> None:
    environ = {**os.environ, "GRAPHMEND_STATE_DIR": str(tmp_path)}
    words = command(PYTHON, "-c", LIVES.format(first, then))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        if sent is not None:
            process.send_signal(sent)
        process.communicate(timeout=60)
    assert process.returncode == status


@pytest.mark.slow
def test_ctrl_c_reaches_the_program_once_and_it_ends_as_it_wants(tmp_path: Path) -> None:
    """As a terminal does it: SIGINT to the whole process group, of which a pseudo-terminal is in charge."""
    import pty

    code = (
        "import time\ntry:\n    print('up', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(0.3)\n    print('saved', flush=True)\n    raise SystemExit(5)\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["GRAPHMEND_STATE_DIR"] = str(tmp_path)
        words = command(PYTHON, "-c", code)
        os.execv(words[0], words)
    shown = b""
    while b"up" not in shown:
        shown += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    try:
        while part := os.read(terminal, 1024):
            shown += part
    except OSError:
        pass  # the terminal's other end is closed
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert b"saved" in shown
