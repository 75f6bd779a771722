"""The worker process over real pipes: nothing a program does ends it, every failure comes back typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.worker.conftest import each_worker
from tests.worker.worker_pipes import Worker, analyse_params

HEAD = "import ctypes, os, sys, threading, time, signal, torch\n"
ENTRY = "\ndef graphmend_entry():\n    return f, (torch.ones(4),)\n"
ADD_ONE = "def f(x):\n    return x + 1\n"


def program(body: str, entry: str = ENTRY) -> str:
    return HEAD + body + entry


# name: (program, stage, kind, words of the message, line or None)
MEMORY = 1200  # MiB; a torch for CUDA takes 700 by itself
FAILURES: dict[str, tuple[str, str, str, str, int | None]] = {
    "syntax": (program("def f(x:\n    return x\n"), "load", "syntax", "SyntaxError", 2),
    "missing package": (program("import no_such_package_at_all\n" + ADD_ONE), "load", "import", "no_such_package_at_all", 2),
    "missing name": (program("from os import no_such_name\n" + ADD_ONE), "load", "import", "no_such_name", 2),
    "raises while loaded": (program("1 / 0\n" + ADD_ONE), "load", "exception", "ZeroDivisionError", 2),
    "exits while loaded": (program("sys.exit(3)\n" + ADD_ONE), "load", "exit", "sys.exit(3)", 2),
    "endless while loaded": (program("while True:\n    pass\n" + ADD_ONE), "load", "timeout", "did not end", None),
    "entry raises": (program(ADD_ONE, "def graphmend_entry():\n    raise OSError('no data')\n"), "entry", "exception", "OSError: no data", 5),
    "no entry": (program(ADD_ONE, "def graphmend_entry_small():\n    return f, ()\n"), "entry", "bad-entry", "has no function", None),
    "entry returns None": (program(ADD_ONE, "def graphmend_entry():\n    f\n"), "entry", "bad-entry", "returned None", 4),
    "entry needs arguments": (program(ADD_ONE, "def graphmend_entry(size):\n    return f, ()\n"), "entry", "bad-entry", "needs size", 4),
    "entry gives a number": (program(ADD_ONE, "def graphmend_entry():\n    return f, 3\n"), "entry", "bad-entry", "type int", 4),
    "raises in forward": (program("def f(x):\n    raise ValueError('bad shape')\n"), "call", "exception", "ValueError: bad shape", 3),
    "endless": (program("def f(x):\n    while True:\n        time.sleep(0.001)\n"), "call", "timeout", "did not end within", None),
    "endless in C": (program("def f(x):\n    time.sleep(1000)\n    return x\n"), "call", "timeout", "did not end within", None),
    "exits": (program("def f(x):\n    sys.exit('enough')\n"), "call", "exit", "sys.exit('enough')", 3),
    "exits hard": (program("def f(x):\n    os._exit(7)\n"), "call", "exit", "exit status 7", None),
    "interrupts": (program("def f(x):\n    raise KeyboardInterrupt\n"), "call", "exit", "KeyboardInterrupt", 3),
    "segmentation fault": (program("def f(x):\n    ctypes.string_at(0)\n    return x\n"), "call", "crash", "SIGSEGV", 3),
    "abort": (program("def f(x):\n    os.abort()\n"), "call", "crash", "SIGABRT", 3),
    "one huge tensor": (program("def f(x):\n    return x + torch.ones(10**13)[:4]\n"), "call", "memory", "memory", None),
    "memory grows": (
        program("def f(x):\n    kept = []\n    while True:\n        kept.append(b'x' * 10**7)\n"), "call", "memory", f"more than {MEMORY} MiB", None,
    ),
    "killed": (program("def f(x):\n    os.kill(os.getpid(), signal.SIGKILL)\n"), "call", "memory", "The system killed the program", None),
    "closes everything": (program("def f(x):\n    os.closerange(0, 4096)\n    return x\n"), "call", "exit", "file descriptors", None),
}  # fmt: skip


@each_worker
@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.slow
def test_a_failure_is_typed_and_the_worker_lives(worker: Worker, tmp_path: Path, name: str) -> None:
    text, stage, kind, words, line = FAILURES[name]
    file = tmp_path / "model.py"
    file.write_text(text)
    result = worker.analyse(file, seconds=1.5 if kind == "timeout" else 30, memory_mb=MEMORY)
    failure = result["failure"]
    assert (failure["stage"], failure["kind"]) == (stage, kind), failure
    assert words in failure["message"]
    assert failure["remedy"]
    if line is not None:
        assert (failure["path"], failure["line"]) == (str(file), line)
    assert result["calls"] == (1 if stage == "call" else 0)


HARMLESS = {
    "prints megabytes": "def f(x):\n    for _ in range(300):\n        os.write(1, b'x' * 100_000)\n    print('y' * 5_000_000)\n    return x + 1\n",
    "closes its streams": "def f(x):\n    os.close(1)\n    os.close(2)\n    return x + 1\n",
    "leaves a thread": "def f(x):\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n    return x + 1\n",
    "writes protocol": "def f(x):\n    os.write(1, b'{\"id\": 1, \"result\": {}}\\n')\n    return x + 1\n",
    "reads input": "def f(x):\n    assert sys.stdin.read() == ''\n    return x + 1\n",
    "handles signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.chdir('/')\n" + ADD_ONE,
    "forks": "def f(x):\n    if os.fork() == 0:\n        time.sleep(1000)\n    return x + 1\n",
    "leaves a temporary file": "import tempfile\ntempfile.mkdtemp()\n" + ADD_ONE,
}  # fmt: skip


@each_worker
@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.slow
def test_what_a_program_does_to_its_process_harms_nothing(worker: Worker, tmp_path: Path, name: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(program(HARMLESS[name]))
    result = worker.analyse(file)
    assert result["failure"] is None
    assert result["calls"] == 1
    assert worker.analyse(file, text=program(ADD_ONE))["graphs"][0]["ops"] == 1
    wait_until(lambda: worker.children() == [])


@each_worker
def test_what_was_recorded_before_a_crash_stays(worker: Worker, tmp_path: Path) -> None:
    body = "def f(x):\n    y = x + 1\n    print(y)\n    ctypes.string_at(0)\n    return y\n"
    result = worker.analyse(tmp_path / "model.py", text=program(body))
    assert result["failure"]["kind"] == "crash"
    assert result["events"][0]["root"]["gb_id"] == "GB0059"
    assert result["graphs"][0]["ops"] == 1
    assert (result["calls"], result["device"]) == (1, "cpu")


VERIFIED = {  # what a program has when its proof forks it
    "threads": "for _ in range(4):\n    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n",
    "a thread that computes": "def g():\n    while True:\n        torch.ones(64, 64) @ torch.ones(64, 64)\nthreading.Thread(target=g, daemon=True).start()\n",
    "a daemon": "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worker", "name"),
    [*(("fork", name) for name in VERIFIED), ("spawn", "a thread that computes")],
    indirect=["worker"],
)
def test_a_proof_of_a_program_that_has(worker: Worker, tmp_path: Path, name: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(program(VERIFIED[name] + ADD_ONE))
    candidate = {
        "id": "0",
        "texts": {str(file): program(VERIFIED[name] + ADD_ONE.replace("x + 1", "1 + x"))},
        "conditions": [],
        "changed": {},
    }
    params = {**analyse_params(file, seconds=150), "candidates": [candidate]}
    verdict = worker.result(worker.send("verify", params), 200)
    assert verdict["failure"] is None
    [result] = verdict["candidates"]
    assert (result["failure"], result["outputs"]) == (None, "bit-equal")
    wait_until(lambda: worker.children() == [])


@pytest.mark.slow
def test_the_process_that_forks_has_one_thread_of_python() -> None:
    code = (
        "import threading; from graphmend_lsp.worker import tasks; tasks.load_torch(); tasks.warm_up(); "
        "print(threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


@each_worker
def test_cancel_ends_the_group(worker: Worker, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    body = (
        f"import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nopen({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(1000)\n"
    )
    number = worker.send("analyse", analyse_params(tmp_path / "model.py", text=program(body + ADD_ONE)))
    other = worker.send("analyse", analyse_params(tmp_path / "other.py", text=program(ADD_ONE)))
    assert worker.result(other)["failure"] is None  # a second request is served meanwhile
    wait_until(lambda: mark.exists() and mark.read_text())
    pid = int(mark.read_text())
    worker.say(json.dumps({"id": 0, "method": "cancel", "params": {"id": number}}).encode())
    assert worker.result(number)["failure"]["kind"] == "cancelled"
    wait_until(lambda: not alive(pid) and worker.children() == [])


@pytest.mark.slow
def test_an_end_that_comes_right_after_an_answer_leaves_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    worker = Worker({"TMPDIR": str(folder)})
    try:
        for _ in range(2):  # the second is carried out by the child that waits
            worker.analyse(tmp_path / "model.py", text=program(ADD_ONE))
        os.kill(worker.process.pid, signal.SIGTERM)
        worker.process.wait(10)
        assert list(folder.iterdir()) == []
    finally:
        worker.close()


@each_worker
def test_a_waiting_request_can_be_cancelled(worker: Worker, tmp_path: Path) -> None:
    sleeper = analyse_params(tmp_path / "model.py", text=program("time.sleep(1000)\n" + ADD_ONE))
    numbers = [worker.send("analyse", sleeper) for _ in range(6)]
    for number in reversed(numbers):
        worker.say(json.dumps({"id": 0, "method": "cancel", "params": {"id": number}}).encode())
        assert worker.result(number)["failure"]["kind"] == "cancelled"


BAD_LINES: dict[str, tuple[bytes, str | None]] = {
    "no JSON": (b"{nonsense", None),
    "no object": (b"[1, 2]", None),
    "no id": (b'{"method": "analyse"}', None),
    "no UTF-8": (b"\xff\xfe", None),
    "deep": (b"[" * 100_000, None),
    "unknown method": (b'{"id": 901, "method": "dance", "params": {}}', "no method 'dance'"),
    "no params": (b'{"id": 902, "method": "analyse"}', "params has no device"),
    "strange params": (b'{"id": 903, "method": "analyse", "params": [1]}', "not an object"),
    "strange entry": (
        json.dumps({"id": 904, "method": "analyse", "params": {**analyse_params("/x.py"), "entry": {"file": 3}}}).encode(),
        "no file, function and kind",
    ),
}  # fmt: skip


@each_worker
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_answered_or_skipped(worker: Worker, tmp_path: Path, name: str) -> None:
    line, words = BAD_LINES[name]
    worker.say(line)
    if words is not None:
        failure = worker.read(10)["result"]["failure"]
        assert failure["kind"] == "protocol" and words in failure["message"]
    assert worker.analyse(tmp_path / "model.py", text=program(ADD_ONE))["failure"] is None


@each_worker
def test_hello_says_who_it_is(worker: Worker) -> None:
    import torch

    assert worker.hello["torch"] == torch.__version__
    assert worker.hello["executable"] == sys.executable
    assert worker.hello["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (worker.hello["missing"], worker.hello["failure"]) == ([], None)


@pytest.mark.slow
def test_files_of_the_workspace_do_not_shadow_the_worker(tmp_path: Path) -> None:
    for name in ("json", "torch", "wire", "selectors", "compare", "serve", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')\n")
    (tmp_path / "wire.py").write_text("WHOSE = 'user'\n")
    (tmp_path / "model.py").write_text("import wire\nassert wire.WHOSE == 'user'\n" + program(ADD_ONE))
    worker = Worker({"PYTHONPATH": str(tmp_path)}, tmp_path)
    try:
        assert worker.hello["failure"] is None
        assert worker.analyse(tmp_path / "model.py")["failure"] is None
    finally:
        assert worker.close() == 0


def test_no_torch_is_said_with_a_remedy(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    worker = Worker(python=str(tmp_path / "bare" / "bin" / "python"))
    try:
        assert worker.hello["torch"] is None
        assert worker.hello["failure"]["kind"] == "no-torch"
        assert worker.hello["failure"]["message"] == f"{tmp_path / 'bare' / 'bin' / 'python'} has no torch."
        assert worker.analyse(tmp_path / "model.py")["failure"]["kind"] == "no-torch"
    finally:
        assert worker.close() == 0


ENDINGS: dict[str, Any] = {
    "end of input": lambda worker: worker.process.stdin.close(),
    "shutdown": lambda worker: worker.send("shutdown", {}),
    "SIGTERM": lambda worker: os.kill(worker.process.pid, signal.SIGTERM),
    "SIGKILL": lambda worker: os.kill(worker.process.pid, signal.SIGKILL),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDINGS)
def test_no_process_and_no_file_outlives_the_worker(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    worker = Worker({"TMPDIR": str(folder)})
    mark = tmp_path / "pid"
    body = f"open({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1000)\n"
    worker.send("analyse", analyse_params(tmp_path / "model.py", text=program(body + ADD_ONE)))
    wait_until(lambda: mark.exists() and mark.read_text())
    pid = int(mark.read_text())
    ENDINGS[name](worker)
    assert worker.process.wait(10) == (-signal.SIGKILL if name == "SIGKILL" else 0)
    wait_until(lambda: not alive(pid))
    worker.close()
    left = list(folder.iterdir())
    assert len(left) == (name == "SIGKILL")
    if left:  # what was compiled, until the next worker comes
        (folder / "graphmend-foreign").mkdir()
        (folder / "graphmend-link").symlink_to(left[0])
        first, second = Worker({"TMPDIR": str(folder)}), Worker({"TMPDIR": str(folder)})
        second.close()
        assert not left[0].exists()
        assert len(list(folder.iterdir())) == 3  # that of a worker that runs stays, and what is none
        assert first.analyse(tmp_path / "other.py", text=program(ADD_ONE))["failure"] is None
        first.close()
        assert {each.name for each in folder.iterdir()} == {"graphmend-foreign", "graphmend-link"}


@pytest.mark.slow
def test_a_worker_whose_folder_was_cleared_away_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    worker = Worker({"TMPDIR": str(folder)})
    for number in range(2):
        folder.rename(tmp_path / f"cleared {number}")  # at once: a spare child may be writing to it
        folder.mkdir()
        assert worker.analyse(tmp_path / "model.py", text=program(ADD_ONE))["failure"] is None
    worker.close()
    assert list(folder.iterdir()) == []


def wait_until(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_live_run_tells_each_break_when_it_is_met(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        program("def f(x):\n    print(x)\n    y = x * 2\n    print(y)\n    time.sleep(1.5)\n    return y\n")
    )
    number, told = worker.send("analyse", {**analyse_params(file), "live": True}), []
    while "result" not in (message := worker.read(60)):
        if message["id"] == number and "event" in message:
            told.append((message["event"]["frames"][-1]["line"], time.monotonic()))
    ended = time.monotonic()
    events = message["result"]["events"]
    assert [line for line, _ in told] == [event["frames"][-1]["line"] for event in events] == [3, 5, 6]
    assert ended - told[1][1] > 1.0  # the program sleeps behind it
