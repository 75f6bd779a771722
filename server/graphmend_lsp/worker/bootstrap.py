"""How the worker comes to a machine that does not have it: this text is given to a Python there, and the files follow.

Never imported by the worker. It runs as it stands in any Python from 3.6 on, standard library only: it says `READY`, reads
the worker's files, compressed, writes them to a folder that it removes in the end, and starts the worker in it
on the same pipes. The folder of a bootstrap that was killed is removed by the next one.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

READY = "graphmend-worker: send the files"
PREFIX = "graphmend-worker-"
LOCK = "lock"
YOUNG = 60.0  # seconds that a folder without a lock may still be in the making


def main() -> int:
    """Write the files, run the worker to its end, leave nothing."""
    say("\n" + READY + "\n")
    parcel = json.loads(zlib.decompress(base64.b64decode(read_parcel())).decode())
    if sys.version_info < (3, 10):  # noqa: UP036
        say(json.dumps(too_old(parcel["protocol"])) + "\n")
        return 1
    sweep()
    folder = tempfile.mkdtemp(prefix=PREFIX)
    try:
        held = lock(os.path.join(folder, LOCK))
        for name, text in parcel["files"].items():
            path = os.path.join(folder, "worker", *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        cwd = parcel["cwd"] if parcel["cwd"] and os.path.isdir(parcel["cwd"]) else None
        script = os.path.join(folder, "worker", "__main__.py")
        worker = subprocess.Popen([sys.executable, "-u", script], cwd=cwd)
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: worker.terminate())
        status = worker.wait()
        if held is not None:
            os.close(held)
        return status if status >= 0 else 128 - status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def say(words: str) -> None:
    """Write to the engine."""
    sys.stdout.write(words)
    sys.stdout.flush()


def read_parcel() -> bytes:
    """What follows on the input: its length as a line, then it. Read by number and no further: the rest is the worker's."""
    length = b""
    while not length.endswith(b"\n"):
        length += read(1)
    parcel = bytearray()
    while len(parcel) < int(length):
        parcel += read(int(length) - len(parcel))
    return bytes(parcel)


def read(most: int) -> bytes:
    """Some bytes; the process ends where there are none."""
    data = os.read(0, min(most, 1 << 16))
    if not data:
        os._exit(1)
    return data


def lock(path: str) -> "int | None":
    """Hold this file locked; None when somebody does, or where there are no such locks."""
    try:
        import fcntl

        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def sweep() -> None:
    """Remove the folders of bootstraps that were killed: their locks are free."""
    place = tempfile.gettempdir()
    for name in os.listdir(place):
        folder = os.path.join(place, name)
        try:
            if not name.startswith(PREFIX) or time.time() - os.stat(folder).st_mtime < YOUNG:
                continue
            held = lock(os.path.join(folder, LOCK))
        except OSError:
            continue
        if held is not None:
            os.close(held)
            shutil.rmtree(folder, ignore_errors=True)


def too_old(protocol: int) -> "dict[str, object]":
    """What is said instead of the worker's hello by a Python that cannot run it."""
    version = ".".join(map(str, sys.version_info[:3]))
    failure = {
        "stage": "worker",
        "kind": "no-worker",
        "message": "The command starts Python " + version + "; the worker needs 3.10 or newer.",
        "remedy": "End the worker's command with a Python that has torch.",
        "path": None,
        "line": None,
        "detail": sys.executable,
    }
    hello = {"protocol": protocol, "torch": None, "python": version, "executable": sys.executable, "cuda": False}
    return {"hello": dict(hello, missing=[], failure=failure)}


if __name__ == "__main__":
    status = 1
    try:
        status = main()
    finally:
        sys.stderr.flush()
        os._exit(status)  # the Python that runs this would go on to read statements
