"""A process that has the packages of a program imported and forks the runs of that program: import costs them nothing.

It is a fork of the worker's process. Only modules of installed packages, which an earlier run of the program imported,
are imported here, in that run's order; never a file of the user's. A module that changes more than Python's own state
(a thread, a signal handler, the environment, an open file, what torch.compile is ...) is named, and the process is of no use.
A run that is forked here is adopted by the worker's process, which sees no difference. Linux only; standard library only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import os
import pickle
import re
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

from .limits import adopt_orphans, die_with_parent
from .loaded import Watch
from .places import canonical, is_installed, kind_of
from .processes import TEMPORARY, Job, Post, live

SIGNED = re.compile(rb"^.*\bimport\s*\([^)]*\)|^.*(?:import|environ|putenv|chdir|sys\.).*", re.MULTILINE)
SUPPORT = b"graphmend_support import"
ADOPTION = 2.0  # seconds
SIZE = struct.Struct("!Q")
THREADS = "the threads of libraries"
_BLAS = re.compile(rb"/[^/\n]*openblas[^/\n]*$", re.MULTILINE)
_SIGNALS = ("SigBlk", "SigIgn", "SigCgt")
_TORCH = ("TORCHINDUCTOR_", "TRITON_")


class HeldBackError(BaseException):
    """A module that may not be imported here is asked for; no ``except Exception`` of a package shall hide it."""


@dataclass(frozen=True)
class Order:
    """What to import: names in their order, those to leave out, and files (canonical) whose text is another one now."""

    names: tuple[str, ...]
    without: frozenset[str]
    held: frozenset[str]


@dataclass(frozen=True)
class Preloaded:
    """What a forked run is given of the process it comes from. `before` are the modules that were there without it."""

    before: frozenset[str]
    watch: Watch


def live_on(order: Order, folder: str, control: int, worker: int, post: Post) -> None:
    """Import what is ordered, tell what came of it, and fork runs as they are asked for until `control` ends.

    Posts ``("hold", {name: why})`` and returns when modules must be left out; ``("ready", asked, stamps)`` when all are
    there: the top-level names that were looked for, and of each file when it was changed and how long it is.
    """
    tempfile.tempdir = folder
    environment = dict(os.environ)
    os.environ.update(dict.fromkeys(TEMPORARY, folder))
    before = frozenset(sys.modules)
    watch = Watch(folder)
    watch.install()
    gate = Gate(order)
    obstacles = bring_in(order, gate)
    if obstacles:
        post(("hold", obstacles))
        return
    watch.settle()
    post(("ready", sorted(gate.asked), stamps_of(set(sys.modules) - before)))
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    gc.collect()
    gc.freeze()
    adopt_orphans(False)  # what is forked here is the worker's
    with socket.socket(fileno=control) as orders:
        _serve(orders, worker, post, Preloaded(before, watch))


class Gate(importlib.abc.MetaPathFinder):
    """Lets modules of installed packages, of Python and of torch in; anything else raises `HeldBackError`.

    `interrupted` are the modules whose code was running when one was refused: they need it, so they cannot come either.
    """

    def __init__(self, order: Order) -> None:
        self.asked: set[str] = set()
        self.interrupted: set[str] = set()
        self.without = set(order.without)
        self._held = order.held

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that the other finders give."""
        self.asked.add(fullname.partition(".")[0])
        if fullname in self.without:
            self._refuse(fullname)
        for finder in sys.meta_path:
            if finder is not self and (find := getattr(finder, "find_spec", None)) is not None:
                spec: importlib.machinery.ModuleSpec | None = find(fullname, path, target)
                if spec is not None:
                    if not all(map(self._may_come, _places(spec))):
                        self._refuse(fullname)
                    return spec
        return None

    def _may_come(self, place: str) -> bool:
        kind = kind_of(place)
        if kind == "code":
            return is_installed(place) and canonical(place) not in self._held
        return kind != "worker"

    def _refuse(self, fullname: str) -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "<module>" and (name := frame.f_globals.get("__name__")) in sys.modules:
                self.interrupted.add(name)
            frame = frame.f_back
        self.interrupted.discard("__main__")
        raise HeldBackError(fullname)


def bring_in(order: Order, gate: Gate) -> dict[str, str]:
    """Import all. What must be left out, and why: empty when all that this has left behind are modules.

    It goes on behind the first obstacle, in a process that is of no use then, so that the next one leaves all of them out.
    """
    before = set(sys.modules)
    obstacles: dict[str, str] = {}
    sys.meta_path.insert(0, gate)
    try:
        with _compiling_told() as compiled:
            state = _state()
            for name in order.names:
                if name in sys.modules or not gate.without.isdisjoint(with_parents(name)):
                    continue
                why = ""
                try:
                    importlib.import_module(name)
                except HeldBackError:
                    pass  # the gate has noted which modules had begun; none means that nothing is left of it
                except BaseException as error:
                    why = f"it cannot be imported by itself: {type(error).__name__}: {error}"
                after = _state()
                changed = [what for what, value in after.items() if not is_as_before(what, value, state[what])]
                if changed or compiled:
                    why = f"it changes {' and '.join([*changed, *compiled])}"
                state = after
                compiled.clear()
                found = {**dict.fromkeys(gate.interrupted, "it needs a module that is not loaded yet")}
                found |= {name: why} if why else {}
                obstacles |= found
                gate.without |= found.keys()
                gate.interrupted.clear()
            return obstacles or _keepers_of_compile(before)
    finally:
        sys.meta_path.remove(gate)


def with_parents(name: str) -> list[str]:
    """The module's name and those of the packages that it is in."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


class Learner:
    """What a run imports, from before the program is loaded to its end; `before` are the modules that do not count."""

    def __init__(self, before: Iterable[str]) -> None:
        self._before = frozenset(before)
        self._begun, self._seconds = time.monotonic(), 0.0
        self._environment, self._cwd, self._path = _environment(), os.getcwd(), list(sys.path)

    def at(self, stage: str) -> None:
        """The run is at this stage now; the program is loaded before the first call."""
        if stage == "call" and not self._seconds:
            self._seconds = time.monotonic() - self._begun

    def told(self, texts: Mapping[str, str]) -> tuple[list[str], dict[str, int], list[str], float] | None:
        """The installed modules in the order of their import; of the user's own files what they say of imports
        (`signature`; `texts` are the unsaved ones); the folders that were put on sys.path; how many seconds it took to
        import and build the program.

        None when the program changed what modules may see while they are imported.
        """
        try:
            if _environment() != self._environment or os.getcwd() != self._cwd:
                return None
        except OSError:
            return None
        names, files = [], {}
        for name, module in list(sys.modules.items()):
            if name in self._before:  # to look at one of the thousands copies its page
                continue
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or kind_of(file) != "code":
                continue
            if file in texts or not is_installed(file):
                files[file] = signature(texts[file].encode("utf-8", "surrogatepass") if file in texts else read(file))
            if is_installed(file):
                names.append(name)
        return names, files, [folder for folder in sys.path if folder not in self._path], self._seconds


def signature(text: bytes) -> int:
    """What a text says of imports and of the state that imports see, as a number of this process and its forks.

    Imports of the support module, which mends write, do not count: it imports nothing but Python's own modules and torch.
    """
    return hash(tuple(line for line in SIGNED.findall(text) if SUPPORT not in line))


def read(file: str) -> bytes:
    """The file's content; empty when it cannot be read."""
    with contextlib.suppress(OSError), open(file, "rb") as stream:
        return stream.read()
    return b""


def stamps_of(names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Of each file of these modules, in nanoseconds and bytes: when it was changed and how long it is."""
    files = {getattr(sys.modules.get(name), "__file__", None) for name in names}
    return {file: found for file in files if isinstance(file, str) and (found := stamp(file)) is not None}


def stamp(file: str) -> tuple[int, int] | None:
    """When the file was changed and how long it is; None when there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def send(orders: socket.socket, job: Job, messages: int, output: int) -> int:
    """In the worker's process: have the job run, with these writing ends of its pipes. The pid of the child, adopted.

    Raises:
        OSError: the process that should fork it does not answer.
    """
    body = pickle.dumps(job)
    socket.send_fds(orders, [SIZE.pack(len(body))], [messages, output])
    orders.sendall(body)
    answer = received(orders, SIZE.size)
    if answer is None:
        raise OSError("the process ended")
    return int(SIZE.unpack(answer)[0])


def _serve(orders: socket.socket, worker: int, post: Post, given: Preloaded) -> None:
    while True:
        head, fds, _, _ = socket.recv_fds(orders, SIZE.size, 2)
        if len(head) < SIZE.size or len(fds) < 2:
            return
        body = received(orders, SIZE.unpack(head)[0])
        if body is None:
            return
        middle = os.fork()
        if middle == 0:
            try:
                if os.fork() == 0:
                    _run(body, fds, orders, worker, post, given)
            finally:
                os._exit(0)
        os.waitpid(middle, 0)
        for fd in fds:
            os.close(fd)


def _run(body: bytes, fds: Sequence[int], orders: socket.socket, worker: int, post: Post, given: Preloaded) -> None:
    """The life of a run's process; its parent ends at once, and the worker's process adopts it."""
    status = 1
    try:
        end = time.monotonic() + ADOPTION
        while os.getppid() != worker:
            if time.monotonic() > end:
                return
            time.sleep(0.0002)
        die_with_parent()
        if os.getppid() != worker:
            return
        os.setpgid(0, 0)
        adopt_orphans()
        orders.sendall(SIZE.pack(os.getpid()))
        orders.close()
        post.forget()
        job: Job = pickle.loads(body)
        status = live(job, fds[0], fds[1], given)
    finally:
        os._exit(status)


def received(orders: socket.socket, size: int) -> bytes | None:
    """So many bytes; None when the other end is closed before."""
    data = bytearray()
    while len(data) < size:
        part = orders.recv(min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


def _state() -> dict[str, object]:
    """What importing a module should leave as it is."""
    torch: Any = sys.modules.get("torch")
    return {
        "Python's threads": threading.active_count(),
        THREADS: (len(os.listdir("/proc/self/task")) - threading.active_count(), len(_blas_libraries())),
        "the processes": _children(),
        "the open files": sorted(os.listdir("/proc/self/fd")),
        "the signal handlers": [_signals(), *map(signal.getsignal, signal.valid_signals())],
        "the environment": _environment(),
        "the working folder": os.getcwd(),
        "where modules are looked for": list(sys.path),
        "the GPU": bool(torch is not None and torch.cuda.is_initialized()),
        "the default dtype": torch.get_default_dtype() if torch is not None else None,
        "garbage collection": gc.isenabled(),
    }


def is_as_before(what: str, now: Any, before: Any) -> bool:
    """Whether nothing changed that a fork would lose. OpenBLAS starts its threads when it is loaded, ends them before a
    fork and starts them anew when they are needed; so do the numpy and scipy that a plain run imports itself.
    """
    if what != THREADS or now == before:
        return bool(now == before)
    more, libraries = now[0] - before[0], now[1] - before[1]
    return bool(0 <= more <= libraries * (len(os.sched_getaffinity(0)) - 1))


def _blas_libraries() -> set[bytes]:
    """The files of OpenBLAS that are loaded."""
    return set(_BLAS.findall(read("/proc/self/maps")))


def _environment() -> dict[str, str]:
    """The environment but for what torch, which is there before any package, says in it when it compiles."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_TORCH)}


def _children() -> str:
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read()
    return ""


def _signals() -> list[str]:
    """Which signals are blocked, ignored and caught, also by handlers that Python does not know."""
    return [line for line in read("/proc/self/status").decode().splitlines() if line.startswith(_SIGNALS)]


@contextlib.contextmanager
def _compiling_told() -> Iterator[list[str]]:
    """While it lasts, whoever asks for torch.compile is noted: in a run it would be given another one than here."""
    import torch
    import torch._dynamo

    noted: list[str] = []
    originals = torch.compile, torch._dynamo.optimize

    def telling(original: Callable[..., Any]) -> Callable[..., Any]:
        def told(*args: Any, **options: Any) -> Any:
            noted.append("what torch.compile compiles")
            return original(*args, **options)

        return told

    torch.compile, torch._dynamo.optimize = map(telling, originals)
    try:
        yield noted
    finally:
        torch.compile, torch._dynamo.optimize = originals


def _keepers_of_compile(before: set[str]) -> dict[str, str]:
    """The modules that keep torch.compile under a name of their own: a run's replacement would not reach it."""
    import torch
    import torch._dynamo

    theirs = {id(torch.compile), id(torch._dynamo.optimize)}
    return {
        name: "it keeps torch.compile under a name of its own"
        for name, module in list(sys.modules.items())
        if name not in before and any(id(value) in theirs for value in list(getattr(module, "__dict__", {}).values()))
    }


def _places(spec: importlib.machinery.ModuleSpec) -> list[str]:
    if spec.origin is not None and os.path.isabs(spec.origin):
        return [spec.origin]
    if spec.origin is None and spec.submodule_search_locations is not None:
        return [os.path.join(folder, "") for folder in spec.submodule_search_locations]
    return []
