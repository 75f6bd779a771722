"""Stand-in servers forked from a process that has everything imported: the import is nearly all that their start costs.

A forked server is a process like any other, with streams, an exit code and signals of its own, but its pygls is there from
the first message on. Tests of how a server starts run `wire.FAKE` instead, as do all where there is no fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
POSSIBLE = sys.platform == "linux"
_COMMAND = [sys.executable, "-m", "tests.lsp.forked"]


class Forked:
    """A server's process, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, status: int, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, stderr
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout` seconds.
        """
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(_COMMAND, timeout or 0.0)
            self.returncode = os.waitstatus_to_exitcode(int(os.read(self._status, 64)))
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The process that forks. It ends when its socket is closed."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*_COMMAND, str(theirs.fileno())], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], cwd=ROOT
            )

    def fork(self, env: Mapping[str, str]) -> Forked:
        """A server of its own, with this environment."""
        pipes = [os.pipe() for _ in range(4)]  # stdin, stdout, stderr, and the exit status
        (stdin, own_in), *outward = pipes
        given = [stdin, *(sink for _, sink in outward)]
        try:
            socket.send_fds(self._orders, [b"f"], given)
            body = json.dumps(dict(env)).encode()
            self._orders.sendall(len(body).to_bytes(8, "big") + body)
            pid = int(self._orders.recv(64))
        finally:
            for one in given:
                os.close(one)
        (stdout, _), (stderr, _), (status, _) = outward
        return Forked(pid, status, os.fdopen(own_in, "wb"), os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb"))

    def close(self) -> None:
        self._orders.close()
        assert self._process.wait(20) == 0


def _tend(orders: socket.socket) -> None:
    """Fork for each order, tell the status of each child that ends; in a child, return."""
    children: dict[int, int] = {}
    ended, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told)
    while True:
        ready, _, _ = select.select([orders, ended], [], [])
        if ended in ready:
            os.read(ended, 1 << 12)
            for pid in list(children):
                if (done := os.waitpid(pid, os.WNOHANG)) != (0, 0):
                    os.write(children[pid], b"%d" % done[1])
                    os.close(children.pop(pid))
        if orders not in ready:
            continue
        order, given, _, _ = socket.recv_fds(orders, 1, 4)
        if not order:
            sys.exit(0)
        env = json.loads(_exactly(orders, int.from_bytes(_exactly(orders, 8), "big")))
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, one in enumerate(given[:3]):
                os.dup2(one, number)
            for one in (*given, *children.values(), ended, told):
                os.close(one)
            orders.close()
            os.environ.clear()
            os.environ.update(env)
            return
        children[pid] = given.pop()
        for one in given:
            os.close(one)
        orders.sendall(b"%d" % pid)


def _exactly(stream: socket.socket, number: int) -> bytes:
    data = b""
    while len(data) < number:
        data += stream.recv(number - len(data))
    return data


def main() -> int:
    """Import what a server imports, then be one in each fork."""
    import graphmend_lsp.engine.session
    import graphmend_lsp.lsp.language_server  # noqa: F401
    from graphmend_lsp.lsp.server import serve_stdio
    from tests.lsp.fake_server import services

    _tend(socket.socket(fileno=int(sys.argv[1])))
    print("printed before serving", file=sys.stderr)
    return serve_stdio(services())


if __name__ == "__main__":
    sys.exit(main())
