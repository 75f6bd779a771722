"""One child process: started as a fork or as a fresh process of the same worker, with its own end of a message pipe.

In the child: nothing of the parent's protocol is open, 0 is empty, 1 and 2 lead to a pipe the parent reads and forgets,
and the function's result, or the failure it ended with, is the last message. Standard library only.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .channel import Channel, ChannelLostError
from .failures import failure, failure_of
from .limits import adopt_orphans, children_of, die_with_parent, family, resident_mb, restrain
from .texts import inherit_sources
from .wire import FailureStage

CHANNEL_LOST = 97
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
FORCE_SPAWN = "GRAPHMEND_WORKER_SPAWN"


@dataclass(frozen=True)
class Job:
    """What a child does. With `posts` the function is called with a `Post`, else without arguments."""

    function: Callable[..., Any]
    posts: bool
    stage: FailureStage
    memory_mb: int | None


class Post:
    """Says something to the parent while the function runs; never fails, whatever became of the pipe."""

    def __init__(self, channel: Channel, stage: FailureStage) -> None:
        self._channel = channel
        self.current: FailureStage = stage

    def __call__(self, value: object) -> None:
        """Send plain data."""
        with contextlib.suppress(ChannelLostError):
            self._channel.say("post", value)

    def forget(self) -> None:
        """In a fork: give up the pipe, which is the parent's."""
        self._channel.close()

    def stage(self, stage: FailureStage) -> None:
        """Say what begins now, so that a death is told of the right thing."""
        self.current = stage
        self(("stage", stage))


class Process(Protocol):
    """A child that may have ended."""

    pid: int

    def ended(self) -> bool:
        """Whether it has ended; it is not reaped by this, so that its pid, and its group, stay its own."""

    def reap(self) -> int:
        """Its exit status, negative for a signal; waits for it."""

    def kill(self) -> None:
        """End it and what it has started."""


@dataclass(frozen=True)
class Started:
    """A started child and the reading ends of its pipes; `pidfd` becomes readable when it ends, where there is such.

    `base_mb` is the memory that it shares with the process it is a fork of.
    """

    process: Process
    messages: int
    output: int
    pidfd: int | None
    base_mb: float = 0.0


def can_fork() -> bool:
    """Whether a fork of this process can run torch. Not on Windows and macOS; forced off by an environment variable."""
    return hasattr(os, "fork") and sys.platform == "linux" and not os.environ.get(FORCE_SPAWN)


def fork(job: Job, own_group: bool, private: Sequence[int]) -> Started:
    """Start the job in a fork; `private` descriptors are closed in it. The caller must have one thread only."""
    messages, messages_out = os.pipe()
    output, output_out = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS libraries, which handle forks
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                die_with_parent()
                if own_group:
                    os.setpgid(0, 0)
                    adopt_orphans()
                for fd in (messages, output, *private):
                    os.close(fd)
                status = live(job, messages_out, output_out)
            finally:
                os._exit(status)
    os.close(messages_out)
    os.close(output_out)
    if own_group:
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
    return started(pid, messages, output, own_group, resident_mb([os.getpid()]))


def started(pid: int, messages: int, output: int, own_group: bool, base_mb: float) -> Started:
    """A child of this process that runs, with the reading ends of its pipes."""
    pidfd = None
    with contextlib.suppress(OSError, AttributeError):
        pidfd = os.pidfd_open(pid)
    return Started(_Forked(pid, own_group), messages, output, pidfd, base_mb)


def reap_strangers(known: Iterable[int]) -> None:
    """End the children of this process that are not among the known: what dead children have left behind."""
    if not hasattr(os, "fork"):
        return
    own, kept = os.getpid(), set(known)
    for _ in range(100):  # an end can leave others behind
        strangers = [pid for pid in children_of(own) if pid not in kept]
        if not strangers:
            return
        for pid in strangers:
            for member in family(pid):
                with contextlib.suppress(OSError):
                    os.kill(member, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)


def spawn(job: Job, own_group: bool, folder: str | None) -> Started:
    """Start the job in a fresh process of this worker; `folder` is for its temporary files.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: the function cannot be pickled.
        OSError: the process cannot be started.
    """
    body = pickle.dumps(job)
    env = None if folder is None else {**os.environ, **dict.fromkeys(TEMPORARY, folder)}
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if sys.platform == "win32" else 0
    process = subprocess.Popen(
        [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py"), "--once"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        start_new_session=own_group and sys.platform != "win32", creationflags=flags, env=env,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    with contextlib.suppress(OSError), process.stdin as pipe:  # it may be dead already; then its end tells
        data = memoryview(body)
        while data:
            data = data[pipe.write(data) :]
    messages, output = os.dup(process.stdout.fileno()), os.dup(process.stderr.fileno())
    process.stdout.close()
    process.stderr.close()
    return Started(_Spawned(process, own_group), messages, output, None)


def live_once() -> int:
    """What a spawned process does: the job comes on stdin, messages leave on what was stdout. The exit status."""
    die_with_parent()
    body = sys.stdin.buffer.read()
    messages = os.dup(1)
    output = os.dup(2)
    try:
        inherit_sources()
        job: Job = pickle.loads(body)
    except Exception as error:
        said = f"The job could not be read: {type(error).__name__}: {error}"
        Channel(messages).say("failed", failure("worker", "protocol", said))
        return 1
    return live(job, messages, output)


def live(job: Job, messages: int, output: int, given: object = None) -> int:
    """The child's life: its streams, its limits, the function, the last message. Returns the exit status.

    What is `given` of the process that it is a fork of is handed to a function that posts.
    """
    channel = Channel(messages)
    os.set_inheritable(messages, False)
    _quiet_streams(output)
    _default_signals()
    faulthandler.enable(file=output, all_threads=False)
    if hasattr(signal, "SIGUSR2"):
        faulthandler.register(signal.SIGUSR2, file=output, all_threads=False)
    restrain(job.memory_mb)
    os.environ["PYTHONBREAKPOINT"] = "0"
    post = Post(channel, job.stage)
    post.stage(job.stage)  # from here on its time counts
    try:
        try:
            extra = () if given is None else (given,)
            value = job.function(post, *extra) if job.posts else job.function()
        except BaseException as error:
            channel.say("failed", failure_of(error, post.current))
            return 0
        try:
            channel.say("done", value)
        except (pickle.PicklingError, AttributeError, TypeError, RecursionError, ValueError) as error:
            said = f"The result cannot leave its process: {type(error).__name__}: {error}"
            channel.say("failed", failure(post.current, "protocol", said))
    except ChannelLostError:
        return CHANNEL_LOST
    return 0


def _quiet_streams(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if nothing > 2:
        os.close(nothing)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), "utf-8")  # type: ignore[misc]
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        stream = io.TextIOWrapper(raw, "utf-8", errors="backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _default_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.set_wakeup_fd(-1)
    for name in ("SIGTERM", "SIGCHLD", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


class _Forked:
    def __init__(self, pid: int, own_group: bool) -> None:
        self.pid = pid
        self._own_group = own_group
        self._status: int | None = None

    def ended(self) -> bool:
        if self._status is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # the program reaped it, or ignores its children
            self._status = 0
            return True

    def reap(self) -> int:
        if self._status is None:
            try:
                self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            except ChildProcessError:
                self._status = 0
        return self._status

    def kill(self) -> None:
        if self._status is not None:
            return
        _kill_posix(self.pid, self._own_group)


class _Spawned:
    def __init__(self, process: subprocess.Popen[bytes], own_group: bool) -> None:
        self.pid = process.pid
        self._process = process
        self._own_group = own_group

    def ended(self) -> bool:
        if sys.platform != "win32" and self._process.returncode is None:
            try:
                return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            except ChildProcessError:
                return True
        return self._process.poll() is not None

    def reap(self) -> int:
        return self._process.wait()

    def kill(self) -> None:
        if self._process.returncode is not None:
            return
        if sys.platform == "win32":
            with contextlib.suppress(OSError):
                subprocess.run(["taskkill", "/T", "/F", "/PID", str(self.pid)], capture_output=True, check=False)
            with contextlib.suppress(OSError):
                self._process.kill()
        else:
            _kill_posix(self.pid, self._own_group)


def _kill_posix(pid: int, own_group: bool) -> None:
    members = family(pid)  # also those that left the group
    if own_group:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    for member in members:
        with contextlib.suppress(OSError):
            os.kill(member, signal.SIGKILL)
