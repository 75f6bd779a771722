"""Programs that do to their process what programs do, and worse: each with what the worker has to say of it."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import ctypes, os, signal, subprocess, sys, tempfile, threading, time, torch\n"
ENTRY = "\ndef graphmend_entry():\n    return f, (torch.ones(4),)\n"
PLAIN = "def f(x):\n    return x + 1\n"


@dataclass(frozen=True)
class Deed:
    """A program, how often it comes (a weight), the kinds of failure that may be told of it (None: it must succeed),
    and the limits it is given. `cancelled` requests are cancelled while they run."""

    text: str
    weight: int
    kinds: tuple[str | None, ...]
    seconds: float = 60.0
    memory_mb: int | None = None
    cancelled: bool = False
    breaks: int = 0


def loaded(body: str) -> str:
    """A program that does it while it is imported."""
    return HEAD + body + PLAIN + ENTRY


def called(body: str) -> str:
    """A program that does it in its forward; lines of the body are indented once."""
    return HEAD + "def f(x):\n" + body + "    return x + 1\n" + ENTRY


SLEEPER = "['sleep', '1000']"
DEEDS: dict[str, Deed] = {
    "good": Deed(loaded(""), 22, (None,)),
    "breaks": Deed(called("    x = x * 2\n    print(x)\n"), 10, (None,), breaks=1),
    "raises": Deed(loaded("1 / 0\n"), 6, ("exception",)),
    "syntax": Deed(HEAD + "def f(x:\n" + ENTRY, 5, ("syntax",)),
    "missing package": Deed(loaded("import no_such_package_at_all\n"), 4, ("import",)),
    "exits": Deed(loaded("sys.exit(3)\n"), 3, ("exit",)),
    "exits hard": Deed(loaded("os._exit(7)\n"), 4, ("exit",)),
    "hangs": Deed(loaded("while True:\n    pass\n"), 2, ("timeout",), seconds=0.4),
    "hangs in a call": Deed(called("    while True:\n        time.sleep(0.001)\n"), 1, ("timeout",), seconds=0.8),
    "hangs with the lock of Python held": Deed(loaded("while True:\n    ctypes.PyDLL(None).sleep(1000)\n"), 2, ("timeout",), seconds=0.4),
    "hangs deaf to signals": Deed(
        loaded("signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(1000)\n"), 1, ("timeout",), seconds=0.4
    ),
    "stops itself": Deed(loaded("os.kill(os.getpid(), signal.SIGSTOP)\n"), 1, ("timeout",), seconds=0.4),
    "segmentation fault": Deed(called("    ctypes.string_at(0)\n"), 3, ("crash",)),
    "abort": Deed(loaded("os.abort()\n"), 4, ("crash",)),
    "kills its group": Deed(loaded("os.killpg(0, signal.SIGKILL)\n"), 2, ("memory",)),
    "forks and leaves": Deed(loaded("if os.fork() == 0:\n    time.sleep(1000)\n"), 3, (None,)),
    "forks and dies": Deed(loaded("if os.fork():\n    os._exit(5)\ntime.sleep(1000)\n"), 3, ("exit",)),
    "leaves a daemon": Deed(
        loaded(f"subprocess.Popen({SLEEPER}, start_new_session=True)\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)\n"),
        4, (None,),
    ),
    "leaves a daemon and dies": Deed(loaded(f"subprocess.Popen({SLEEPER}, start_new_session=True)\nos._exit(5)\n"), 3, ("exit",)),
    "closes its streams": Deed(loaded("os.close(0)\nos.close(1)\nos.close(2)\n"), 4, (None,)),
    "closes everything": Deed(loaded("os.closerange(0, 4096)\n"), 3, ("exit",)),
    "fills its output": Deed(loaded("part = b'x' * 1_000_000\nfor _ in range(100):\n    os.write(1, part)\n"), 2, (None,)),
    "speaks the protocol": Deed(loaded("os.write(1, b'{\"id\": 1, \"result\": {}}\\n')\nos.write(2, b'\\n\\0\\xff\\n')\n"), 3, (None,)),
    "takes all memory": Deed(
        loaded("kept = []\nwhile True:\n    kept.append(b'x' * 10**7)\n"), 2, ("memory",), memory_mb=200
    ),
    "asks for all memory at once": Deed(loaded("torch.ones(10**13)\n"), 2, ("memory",)),
    "recurses": Deed(loaded("def g(n):\n    return g(n + 1)\ng(0)\n"), 3, ("exception",)),
    "recurses in C": Deed(
        loaded("sys.setrecursionlimit(10**9)\nkept = []\nfor _ in range(10**6):\n    kept = [kept]\nrepr(kept)\n"), 1, ("crash", "exception", "memory"),
    ),
    "deletes its own file": Deed(loaded("os.remove(__file__)\n"), 4, (None,)),
    "deletes its temporary folder": Deed(loaded("import shutil\nshutil.rmtree(tempfile.gettempdir())\n"), 3, (None,)),
    "leaves temporary files": Deed(loaded("tempfile.mkdtemp()\nopen(tempfile.mkstemp()[1], 'w').write('x' * 10**6)\n"), 4, (None,)),
    "changes its folder": Deed(loaded("os.chdir('/')\n"), 4, (None,)),
    "handles signals": Deed(
        loaded("for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n    signal.signal(number, signal.SIG_IGN)\n"),
        4, (None,),
    ),
    "leaves threads": Deed(loaded("for _ in range(20):\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n"), 4, (None,)),
    "reads its input": Deed(loaded("assert sys.stdin.read() == ''\n"), 3, (None,)),
    "no entry": Deed(HEAD + PLAIN, 3, ("bad-entry",)),
    "is cancelled": Deed(loaded("time.sleep(1000)\n"), 5, ("cancelled",), cancelled=True),
    "is cancelled with a daemon": Deed(
        loaded(f"subprocess.Popen({SLEEPER}, start_new_session=True)\ntime.sleep(1000)\n"), 3, ("cancelled",), cancelled=True
    ),
}  # fmt: skip

LINES = (  # that are no request; the worker skips them
    b"{nonsense", b"[1, 2]", b'{"method": "analyse"}', b"\xff\xfe\x00", b"[" * 50_000, b'{"id": "x"}', b"null", b'"' + b"x" * 200_000,
    b'{"id": 0, "method": "cancel", "params": {"id": 123456789}}', b'{"id": 0, "method": "cancel", "params": 7}',
)  # fmt: skip
