"""A look ahead: the first break of a model with many layers, met before TorchDynamo has traced all of them.

A fork of the process that is about to run the program traces it with the forward of each repeated layer marked as a region
(`torch.compiler.nested_compile_region`): from torch 2.13 on TorchDynamo traces such a layer once and, where its own guards
hold, uses that trace for the others. The fork ends at the first break or the first graph, before anything is run. What it has met
is said early and counts for nothing else: the run itself, which marks nothing, tells the truth. Linux only, as forks are.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import select
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, TracebackType
from typing import Any

from .compiling import compiles_itself
from .limits import die_with_parent
from .processes import can_fork
from .program import Program
from .recorder import Recorder
from .wire import BreakData, FrameData

LAYERS = 4  # of one class side by side, from which a look ahead is worth a fork
LIMIT = 1 << 16  # bytes that a pipe takes at once: what the fork has to say is one message
_REGIONS = ("higher_order_ops", "invoke_subgraph")  # parts of paths in torch through which a break of a region comes


class Ahead:
    """The fork at work. `poll` until `close`; neither raises."""

    def __init__(self, pid: int, pipe: int, met: Callable[[BreakData], None]) -> None:
        self._pid, self._pipe, self._met = pid, pipe, met
        self._open = True

    @property
    def waits(self) -> bool:
        """Whether the fork may still say something."""
        return self._open

    def poll(self) -> None:
        """Hand on what the fork has met, if it has."""
        if not self._open or not select.select([self._pipe], [], [], 0)[0]:
            return
        self._open = False
        with contextlib.suppress(OSError, ValueError):
            said = os.read(self._pipe, LIMIT)
            if said:
                self._met(json.loads(said))

    def close(self) -> None:
        """End the fork."""
        self._open = False
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(self._pid, 0)
        with contextlib.suppress(OSError):
            os.close(self._pipe)


@contextlib.contextmanager
def looking_ahead(program: Program, call: Callable[[], object], met: Callable[[BreakData], None]) -> Iterator[None]:
    """While this process runs the program, `met` is told the first break early, where there is anything to gain.

    `call` makes the program's first call, in the fork.
    """
    ahead = look(program, call, met)
    if ahead is None:
        yield
        return
    untap = _tap_nodes(ahead.poll)
    try:
        yield
    finally:
        untap()
        ahead.close()


def look(program: Program, call: Callable[[], object], met: Callable[[BreakData], None]) -> Ahead | None:
    """Start a fork that looks ahead; None where that gains nothing or cannot be done."""
    layers = repeated_layers(program) if _can_look() else []
    if not layers:
        return None
    try:
        pipe, theirs = os.pipe()
    except OSError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS libraries, which handle forks
            pid = os.fork()
    except OSError:
        os.close(pipe)
        os.close(theirs)
        return None
    if pid == 0:
        try:
            die_with_parent()
            _trace(layers, theirs, call)
        finally:
            os._exit(0)
    os.close(theirs)
    return Ahead(pid, pipe, met)


def repeated_layers(program: Program) -> list[type]:
    """The classes of which `LAYERS` or more modules lie side by side in the callable; of nested ones the outer."""
    import torch

    whole = program.callable
    if not isinstance(whole, torch.nn.Module) or (compiles_itself(whole) and not hasattr(whole, "_orig_mod")):
        return []  # what calls a compiled part is run, not traced
    found: dict[type, None] = {}
    seen: set[int] = set()
    queue: list[Any] = [whole]
    while queue:
        children = list(queue.pop().children())
        counts = Counter(map(type, children))
        for child in children:
            if counts[type(child)] >= LAYERS and _can_mark(type(child)):
                found[type(child)] = None
            elif id(child) not in seen:
                seen.add(id(child))
                queue.append(child)
    return list(found)


def _can_look() -> bool:
    """Whether this torch uses a trace again, and a fork of this process can trace and goes unnoticed by the program."""
    import torch

    mark = getattr(torch.compiler, "nested_compile_region", None)
    return (
        mark is not None
        and "max_reuse_entries" in inspect.signature(mark).parameters
        and can_fork()
        and (os.cpu_count() or 1) > 1
        and threading.active_count() == 1
        and signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
        and not torch.cuda.is_initialized()
    )


def _can_mark(cls: type) -> bool:
    forward = getattr(cls, "forward", None)
    return (
        isinstance(forward, FunctionType)
        and not cls.__module__.startswith("torch.")
        and not inspect.isgeneratorfunction(forward)
        and not hasattr(forward, "__wrapped__")
        and not hasattr(forward, "_torchdynamo_orig_callable")
    )


def _trace(layers: Iterable[Any], pipe: int, call: Callable[[], object]) -> None:
    """In the fork: mark, trace, say the first break. Ends the process."""
    import torch

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    torch.set_num_threads(1)  # a pool of threads does not outlive a fork
    for cls in layers:
        cls.forward = torch.compiler.nested_compile_region(cls.forward, max_reuse_entries=1 << 20)
    _Scout(pipe).install()
    call()


class _Scout(Recorder):
    """Says the first record, if it is a break, and ends the process; silent where that is a region's, which the run will tell."""

    def __init__(self, pipe: int) -> None:
        super().__init__(self._say)
        self._pipe = pipe

    def _record(self, error: Any, outcome: Any, code: CodeType, outer: list[FrameData]) -> None:
        if outcome != "raised" and not _from_region(error):
            super()._record(error, outcome, code, outer)
        os._exit(0)

    def _say(self, kind: str, data: Any) -> None:
        if kind == "event":
            said = json.dumps(data).encode()
            if len(said) < LIMIT:
                os.write(self._pipe, said)
        os._exit(0)


def _from_region(error: BaseException | None) -> bool:
    """Whether the break, or one that it is a consequence of, was met while a region was traced."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            if any(part in os.path.basename(trace.tb_frame.f_code.co_filename) for part in _REGIONS):
                return True
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return False


def _tap_nodes(poll: Callable[[], None]) -> Callable[[], None]:
    """Have `poll` called at each node that TorchDynamo puts into a graph; returns what ends that."""
    from torch._dynamo.output_graph import OutputGraph

    original = OutputGraph.create_proxy

    def create_proxy(*args: Any, **kwargs: Any) -> Any:
        poll()
        return original(*args, **kwargs)

    def untap() -> None:
        OutputGraph.create_proxy = original

    OutputGraph.create_proxy = create_proxy
    return untap
