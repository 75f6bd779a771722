"""What a run stands on: the files it imported and read, the folders it listed, the modules it looked for in vain.

Its result holds as long as all of that is as it was; what cannot be known (a network, another process) is a doubt.
Watching changes nothing for the program: one audit hook that only remembers, two import functions that remember and go
on. Standard library only, but for telling Dynamo to leave these functions alone.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from .places import is_installed, kind_of
from .texts import TextLoader, unsaved_text
from .wire import Loaded, Needs, Standing

STARTED = time.time_ns()  # of this process; what it has imported is younger
RACY = 2.0  # seconds; a .pyc names its source's time in whole seconds, so one that is as young may be of another text
LISTED, LIBRARY = ("os.listdir", "os.scandir"), ("import", "ctypes.dlopen")
DOUBTS = {
    "socket.connect": "the program connected to a network",
    "subprocess.Popen": "the program started another process",
    "os.system": "the program started another process",
    "os.posix_spawn": "the program started another process",
    "os.exec": "the program started another process",
    "os.fork": "the program forked",
    "os.forkpty": "the program forked",
}
EVENTS = {"open": 3, "import": 2, "ctypes.dlopen": 1, **dict.fromkeys(LISTED, 1), **dict.fromkeys(DOUBTS, 0)}
_NOT_FILES = ("/proc/", "/sys/", "/dev/")
_REPORT = "graphmend-needs-"
_CANARY = f"{_REPORT}canary"
_OWN = __name__.rpartition(".")[0]


class Watch:
    """What this process and its forks have touched since `install`. `folder` is the request's own temporary folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._left: tuple[str, ...] = ()
        self._begun = time.time_ns()
        self._seen: dict[tuple[Any, ...], None] = {}
        self._odd: list[str] = []
        self._modules: dict[str, None] = {}
        self._names: dict[str, None] = {}
        self._before = frozenset(sys.modules), tuple(sys.path)
        self._earlier: Needs | None = None

    def install(self) -> None:
        """Watch from now on, for as long as this process lives."""
        self._mark()
        if missing := missing_hooks():
            self._odd.append(f"this torch lacks {missing[0]}")
            return
        for function in (self._hook(), self._watch_loading(), self._watch_texts(), self._watch_finding()):
            _leave_alone(function)

    def go_on(self, folder: str) -> None:
        """In a fork of the process that installed it: a request with this folder begins; what was touched came before."""
        self.settle()
        self._folder, self._begun = folder, time.time_ns()
        self._mark()

    def leave(self, folder: str) -> None:
        """What is touched in there is of no interest."""
        self._left = (*self._left, folder)

    def settle(self) -> None:
        """What was touched so far comes before every request that forks of this process carry out."""
        if self._earlier is None:
            self._earlier = self._own_needs()
            for touched in (self._seen, self._modules, self._names):
                touched.clear()

    def _mark(self) -> None:
        with open(os.path.join(self._folder, _CANARY), "w"):
            pass

    def _hook(self) -> Callable[..., None]:
        seen, odd, getframe, getcwd, taken = self._seen, self._odd, sys._getframe, os.getcwd, EVENTS

        def remember(event: str, args: tuple[Any, ...]) -> None:
            if event not in taken:
                return
            try:
                seen[event, args[: taken[event]], getframe(1).f_globals.get("__name__"), getcwd()] = None
            except Exception as error:  # an exception would end what the program does; a path may have no hash
                odd.append(f"{event}: {type(error).__name__}")

        sys.addaudithook(remember)
        return remember

    def _watch_loading(self) -> Callable[..., Any]:
        original, modules = importlib.machinery.SourceFileLoader.get_code, self._modules

        @functools.wraps(original)
        def get_code(loader: Any, fullname: str) -> Any:
            modules[loader.path] = None
            if not _bytecode_is_old(loader.path):
                return original(loader, fullname)
            return loader.source_to_code(loader.get_data(loader.path), loader.path)

        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]
        return get_code

    def _watch_texts(self) -> Callable[..., Any]:
        original, modules = TextLoader.get_code, self._modules

        @functools.wraps(original)
        def get_code(loader: TextLoader, fullname: str) -> CodeType:
            modules[loader.path] = None
            return original(loader, fullname)

        TextLoader.get_code = get_code  # type: ignore[method-assign,assignment]
        return get_code

    def _watch_finding(self) -> Callable[..., Any]:
        original, names, join = importlib.machinery.FileFinder.find_spec, self._names, os.path.join

        @functools.wraps(original)
        def find_spec(finder: Any, fullname: str, target: Any = None) -> Any:
            spec = original(finder, fullname, target)
            stem = join(finder.path or ".", fullname.rpartition(".")[2])
            if spec is None:
                names[stem] = None
            elif spec.loader is None:  # a folder without __init__: a module of that name would come first
                names[f"{stem}."] = names[join(stem, "__init__")] = None
            elif spec.submodule_search_locations is None:  # a package and an extension module would come first
                names[join(stem, "__init__")] = None
                if spec.origin is not None and spec.origin.endswith(".py"):
                    names[f"{stem}!"] = None
            return spec

        importlib.machinery.FileFinder.find_spec = find_spec  # type: ignore[assignment,method-assign]
        return find_spec

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """In a fork: what it touches until the end of the context is told to the process that watches."""
        place = os.path.join(self._folder, f"{_REPORT}{os.getpid()}")
        with contextlib.suppress(OSError), open(place, "x"):
            pass
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # a folder that is gone has no canary, either
                with open(f"{place}.new", "w", encoding="utf-8") as file:
                    json.dump(self._own_needs(), file)
                os.replace(f"{place}.new", place)

    def needs(self, *, standing: bool) -> Needs:
        """All that was touched; with `standing` also what was loaded before the watch."""
        parts = [self._own_needs()]
        names = _listing(self._folder)
        if _CANARY not in names:
            parts[0]["doubts"].append("the program removed its temporary folder")
        for name in names:
            if name.startswith(_REPORT) and name != _CANARY:
                try:
                    with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                        parts.append(json.load(file))
                except (OSError, ValueError):
                    parts[0]["doubts"].append("a process of the run did not end")
        return Needs(
            modules=_once(part["modules"] for part in parts),
            read=_once(part["read"] for part in parts),
            names=_once(part["names"] for part in parts),
            listed=_once(part["listed"] for part in parts),
            doubts=_once(part["doubts"] for part in parts),
            suffixes=importlib.machinery.all_suffixes(),
            begun=self._begun,
            standing=_standing(*self._before) if standing else None,
            before=self._earlier,
        )

    def _own_needs(self) -> Needs:
        read: dict[str, None] = {}
        written: set[str] = set()
        listed: dict[str, None] = {}
        modules = dict(self._modules)
        doubts = dict.fromkeys(self._odd)
        for event, args, caller, cwd in list(self._seen):
            if event in DOUBTS:
                if not str(caller).startswith(_OWN):
                    doubts[DOUBTS[event]] = None
                continue
            path = _path(args[-1] if event == "import" else args[0], cwd)
            if path is None or self._is_nothing(path):
                continue
            if event in LISTED:
                if not str(caller).startswith("importlib._bootstrap"):
                    listed[path] = None
            elif event in LIBRARY:
                modules[path] = None
            elif (use := _use(args)) == "written":
                written.add(path)
            elif use == "read" and path not in written:
                read[path] = None
        return Needs(
            modules=[path for path in modules if not self._is_nothing(path)],
            read=[path for path in read if path not in modules],
            names=[name for name in self._names if not self._is_nothing(name)],
            listed=list(listed), doubts=list(doubts), suffixes=[], begun=self._begun, standing=None, before=None,
        )  # fmt: skip

    def _is_nothing(self, path: str) -> bool:
        """Whether a file needs no record: the run's own, Python's, torch's (they are part of what stands)."""
        if path.startswith((*_NOT_FILES, self._folder, *self._left)) or path.endswith(".pyc"):
            return True
        kind = kind_of(path)
        return kind in ("stdlib", "worker") or (kind == "torch" and path not in self._modules)


def missing_hooks() -> list[str]:
    """The names in torch._dynamo that watching needs and does not find."""
    from torch._dynamo import eval_frame

    return [] if hasattr(eval_frame, "skip_code") else ["torch._dynamo.eval_frame.skip_code"]


def loaded_of(needs: Needs) -> list[Loaded]:
    """The modules among the needs, with the SHA-256 of their source: of the unsaved text where there is one."""
    earlier = needs["before"]["modules"] if needs["before"] is not None else []
    return [
        Loaded(file=path, sha256=digest)
        for path in dict.fromkeys((*earlier, *needs["modules"]))
        if kind_of(path) == "code" and (digest := _digest(path)) is not None
    ]


def _digest(path: str) -> str | None:
    text = unsaved_text(path)
    if text is not None:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _standing(names: frozenset[str], path: tuple[str, ...]) -> Standing:
    """The files of the modules that were loaded before the program: torch's and what torch imports."""
    files: dict[str, None] = {os.path.realpath(sys.executable): None}
    for name in sorted(names):
        origin = getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None)
        if isinstance(origin, str) and os.path.isabs(origin) and kind_of(origin) in ("code", "torch"):
            files[origin] = None
    folders = [folder for folder in dict.fromkeys(map(os.path.abspath, path)) if os.path.isdir(folder)]
    return Standing(files=list(files), folders=folders, begun=STARTED)


def _bytecode_is_old(path: str) -> bool:
    """Whether the .pyc of a source may be of an earlier text of the same second and length, which Python takes as equal.

    An installer writes a package's files once and compiles them right behind: there the order is enough.
    """
    try:
        source = os.stat(path)
        if time.time() - source.st_mtime < RACY:
            return True
        bytecode = os.stat(importlib.util.cache_from_source(path))
        if is_installed(path):
            return bytecode.st_mtime_ns < source.st_mtime_ns
        return abs(bytecode.st_mtime - source.st_mtime) < RACY
    except (OSError, NotImplementedError):
        return False


def _leave_alone(function: Any) -> None:
    """Have Dynamo run a function as it is, where the program's eager code comes to it."""
    from torch._dynamo import eval_frame

    codes: list[CodeType] = [function.__code__, _bytecode_is_old.__code__, is_installed.__code__]
    for code in codes:
        eval_frame.skip_code(code)


def _path(said: Any, cwd: str) -> str | None:
    try:
        path = os.fsdecode(said)
    except TypeError:  # an open descriptor, or nothing
        return None
    return os.path.normpath(os.path.join(cwd, path)) if path else None


def _use(args: tuple[Any, ...]) -> str:
    """What a file is opened for: to be ``read``, ``written`` anew, or neither (what is in it stays and does not matter)."""
    mode, flags = (args[1], args[2]) if len(args) > 2 else (None, 0)
    if isinstance(mode, str):
        if mode.startswith(("w", "x")):
            return "written"
        return "read" if "r" in mode or "+" in mode else ""
    if not isinstance(flags, int):
        return "read"
    if flags & os.O_TRUNC:
        return "written"
    return "" if flags & (os.O_WRONLY | os.O_RDWR) == os.O_WRONLY else "read"


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _once(parts: Iterator[list[str]]) -> list[str]:
    return list(dict.fromkeys(item for part in parts for item in part))
