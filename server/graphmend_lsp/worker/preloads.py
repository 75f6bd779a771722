"""Which programs are run from a process that has their packages imported (`preload`), and the few such processes.

What a program imports is learned from a run of it. It is run warm only while nothing says that it would import otherwise:
its files say of imports what they said, no installed file changed or is being edited, no folder of the request has a
module of a name that the packages looked for. Anything else is run from the plain process, and learned anew.
In the worker's own process; standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .isolate import Child
from .limits import adopt_orphans, free_mb, resident_mb
from .own_folder import new_folder
from .places import canonical, is_installed
from .preload import Order, live_on, read, send, signature, stamp, with_parents
from .processes import Job, Started, can_fork, started
from .program import module_name
from .wire import Limits

AT_MOST = 2  # processes
ATTEMPTS = 8  # at one set of modules, each without what the last ones said must be left out
WORTH = 20  # modules; fewer are imported in no time
SECONDS = 120.0  # to import them all
ANSWER = 3.0  # seconds within which a run must be forked
MEMORY_MB, SPARE_MB = 4096, 1024  # that such a process may take; that the machine must have free to start one
FORGET = 64  # programs that are remembered
LONG, MANY = 1.0, 100  # seconds and modules; a proof, which loads the program often, waits until so much is imported
WAITED, PATIENCE = 3, 5.0  # attempts that it waits for, each so many times as long as a run takes to import it

Key = tuple[object, ...]


@dataclass(frozen=True)
class Learned:
    """What a run of a program told: the installed modules it imported, what its own files say of imports, the folders
    that it put on sys.path, and the seconds that it took to import and build it."""

    names: tuple[str, ...]
    files: Mapping[str, int]
    folders: tuple[str, ...]
    seconds: float


@dataclass
class Grown:
    """A process with modules imported. `asked` and `stamps` are there when it is ready."""

    order: Order
    wanted: Order
    folder: str
    orders: socket.socket
    child: Child[None]
    asked: frozenset[str] | None = None
    stamps: dict[str, tuple[int, int]] = field(default_factory=dict)
    obstacles: dict[str, str] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)

    def start(self, job: Job) -> Started:
        """Have it fork the job.

        Raises:
            OSError: it does not.
        """
        self.used = time.monotonic()
        base = resident_mb([self.child.pid or 0])
        messages, messages_out = os.pipe()
        output, output_out = os.pipe()
        try:
            pid = send(self.orders, job, messages_out, output_out)
        except OSError:
            os.close(messages)
            os.close(output)
            raise
        finally:
            os.close(messages_out)
            os.close(output_out)
        return started(pid, messages, output, True, base)

    def fresh(self) -> bool:
        """Whether every file is as it was imported."""
        return all(stamp(file) == found for file, found in self.stamps.items())

    def close(self) -> None:
        """End it and remove what it left on disk."""
        self.orders.close()
        self.child.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Preloads:
    """What was learned, and the processes that grew from it; none where they cannot be adopted."""

    def __init__(self, reader: Any, private: tuple[int, ...]) -> None:
        self._reader, self._private = reader, private
        self._able = can_fork() and hasattr(socket, "send_fds") and adopt_orphans()
        self._learned: dict[Key, Learned] = {}
        self._without: dict[Order, frozenset[str]] = {}
        self._attempts: dict[Order, int] = {}
        self._wish: Order | None = None
        self._grown: list[Grown] = []
        self._unused = 0  # processes started since one was of use

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What no other process needs."""
        return tuple(grown.orders.fileno() for grown in self._grown)

    @property
    def children(self) -> list[Child[Any]]:
        """The processes, as children of this one."""
        return [grown.child for grown in self._grown]

    def pick(self, params: Mapping[str, Any]) -> Grown | None:
        """A process that has imported what this request's program imports; None when it is to be run from here."""
        learned = self._learned.get(_key(params))
        if learned is None or params.get("sources"):
            return None
        texts = _texts(params)
        if any(signature(one) != said for file, said in learned.files.items() for one in _contents(file, texts)):
            return None
        order = _order(learned, texts)
        names = set(learned.names)
        for grown in sorted(self._grown, key=lambda one: len(one.wanted.held)):
            if grown.asked is None or not _serves(grown, order, names):
                continue
            if not grown.fresh():
                self._drop(grown)
                break
            if grown.wanted.names != order.names:
                self._wish = order
            if _shadowed(grown.asked, learned.folders, params, texts):
                return None
            self._unused = 0
            return grown
        self._wish = order
        return None

    def awaits(self, params: Mapping[str, Any]) -> bool:
        """Whether it is quicker to run this once a process that `pick` asked for, or that is under way, is ready."""
        learned = self._learned.get(_key(params))
        if learned is None or learned.seconds < LONG or len(learned.names) < MANY:
            return False
        order = _order(learned, _texts(params))
        names = set(learned.names)
        late = time.monotonic() - PATIENCE * learned.seconds
        return any(
            _serves(grown, order, names) and self._attempts.get(grown.wanted, 0) <= WAITED
            for grown in self._grown
            if grown.asked is None and grown.used > late
        )

    def learn(self, params: Mapping[str, Any], told: object) -> None:
        """Take what a run told of its imports (`preload.Learner.told`), or None when it cannot be run warm.

        A process is wished for at once, but where program after program is run only once, as in a check of a whole tree:
        there not before the second run of one.
        """
        key = _key(params)
        again = self._learned.pop(key, None) is not None
        learned = _learned(told)
        if not self._able or learned is None or len(learned.names) < WORTH:
            return
        while len(self._learned) >= FORGET:
            del self._learned[next(iter(self._learned))]
        self._learned[key] = learned
        if again or self._unused < AT_MOST:
            self._wish = _order(learned, _texts(params))

    def grow(self) -> bool:
        """Start the process that was last wished for, if there is room for it; see to those that are under way.

        Whether any was ended: what it had started itself is this process's to reap then.
        """
        before = list(self._grown)
        for grown in before:
            if grown.obstacles or grown.child.outcome is not None:
                self._failed(grown)
        wish, self._wish = self._wish, None
        if wish is not None and all(grown.wanted != wish for grown in self._grown):
            self._try(wish)
        return any(grown not in self._grown for grown in before)

    def _try(self, wish: Order) -> None:
        attempts = self._attempts.get(wish, 0)
        free = free_mb()
        without = self._without.get(wish, frozenset())
        left = sum(without.isdisjoint(with_parents(name)) for name in wish.names)
        if attempts >= ATTEMPTS or left < WORTH or (free is not None and free < SPARE_MB):
            return
        if len(self._attempts) > FORGET:
            self._attempts.clear()
            self._without.clear()
        self._attempts[wish] = attempts + 1
        while len(self._grown) >= AT_MOST:
            self._drop(min(self._grown, key=lambda one: one.used))
        self._start(wish)

    def drop(self, grown: Grown) -> None:
        """End a process that does not answer, or whose runs are not as others."""
        self._attempts[grown.wanted] = ATTEMPTS
        self._drop(grown)

    def close(self) -> None:
        """End all."""
        for grown in list(self._grown):
            self._drop(grown)

    def _start(self, wish: Order) -> None:
        order = Order(wish.names, self._without.get(wish, frozenset()), wish.held)
        folder = new_folder()
        ours, theirs = socket.socketpair()
        ours.settimeout(ANSWER)
        grown: list[Grown] = []
        child: Child[None] = Child(
            partial(live_on, order, folder, theirs.fileno(), os.getpid()),
            Limits(seconds=SECONDS, memory_mb=MEMORY_MB),
            self._reader,
            stage="load",
            posts=True,
            on_post=lambda value: _heard(grown[0], value),
            top=True,
            private=(*self._private, ours.fileno(), *self.descriptors),
        )
        theirs.close()
        self._unused += 1
        grown.append(Grown(order, wish, folder, ours, child))
        self._grown += grown

    def _failed(self, grown: Grown) -> None:
        """It ended, or cannot be used: another one is tried without the modules that are in the way."""
        if grown.obstacles:
            for name, why in grown.obstacles.items():
                print(f"graphmend worker: {name} does not stay imported: {why}", file=sys.stderr)
            self._without[grown.wanted] = grown.order.without | grown.obstacles.keys()
            self._wish = self._wish or grown.wanted
        elif grown.asked is None:
            said = grown.child.outcome.failure["message"] if grown.child.outcome and grown.child.outcome.failure else ""
            print(f"graphmend worker: packages do not stay imported: {said}", file=sys.stderr)
            self._attempts[grown.wanted] = ATTEMPTS
        self._drop(grown)

    def _drop(self, grown: Grown) -> None:
        self._grown.remove(grown)
        grown.close()


def _heard(grown: Grown, value: Any) -> None:
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "hold":
        grown.obstacles = {str(name): str(why) for name, why in dict(value[1]).items()}
    elif isinstance(value, tuple) and len(value) == 3 and value[0] == "ready":
        grown.asked, grown.stamps = frozenset(value[1]), dict(value[2])
        grown.child.rest()


def _serves(grown: Grown, order: Order, names: Collection[str]) -> bool:
    """Whether a process has nothing imported that a run does not import, or that the run has another text of."""
    return order.held <= grown.wanted.held and set(grown.wanted.names) <= set(names)


def _learned(told: object) -> Learned | None:
    if not isinstance(told, tuple) or len(told) != 4:
        return None
    names, files, folders, seconds = told
    if not isinstance(names, list) or not isinstance(files, dict) or not isinstance(folders, list):
        return None
    return Learned(tuple(names), dict(files), tuple(folders), float(seconds))


def _order(learned: Learned, texts: Mapping[str, list[str]]) -> Order:
    held = frozenset(canonical(file) for file in texts if is_installed(file) and _is_edited(file, texts))
    return Order(learned.names, frozenset(), held)


def _key(params: Mapping[str, Any]) -> Key:
    entry = params["entry"]
    return entry["file"], entry["function"], entry["kind"], tuple(map(str, params["roots"]))


def _texts(params: Mapping[str, Any]) -> dict[str, list[str]]:
    """Every text that takes a file's place, in the program or in one of the mended ones."""
    texts: dict[str, list[str]] = {file: [text] for file, text in params["texts"].items()}
    for candidate in params.get("candidates") or ():
        for file, text in (candidate.get("texts") or {}).items():
            texts.setdefault(file, []).append(text)
    return texts


def _contents(file: str, texts: Mapping[str, list[str]]) -> Iterable[bytes]:
    known = texts.get(file)
    return [read(file)] if known is None else [text.encode("utf-8", "surrogatepass") for text in known]


def _is_edited(file: str, texts: Mapping[str, list[str]]) -> bool:
    saved = read(file)
    return any(text != saved for text in _contents(file, texts))


def _shadowed(
    asked: frozenset[str], more: Iterable[str], params: Mapping[str, Any], texts: Mapping[str, list[str]]
) -> bool:
    """Whether a folder that the request puts first has, or an unsaved text is, something of a name that was looked for."""
    folders = [*more, *params["roots"]]
    folder = module_name(params["entry"]["file"])[1]
    folders += [folder] if folder is not None else []
    for folder in dict.fromkeys(map(os.path.abspath, folders)):
        inside = [os.path.relpath(file, folder).partition(os.sep)[0] for file in texts if not is_installed(file)]
        with contextlib.suppress(OSError):
            inside += os.listdir(folder)
        for entry in inside:
            name, dot, suffix = entry.partition(".")
            if name in asked and (not dot or suffix.endswith(("py", "pyc", "so", "pyd"))):
                return True
    return False
