"""How fast the original and the mended program are, side by side, under the backend that the program really runs with.

Each program is loaded and compiled in a child of its own, with compiler caches of its own, so that its first call is cold.
Then they are called in turn, a short while each, and one waits while the other computes.
"""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .alternate import Alternation, LeftAloneError
from .backward import backward
from .compiling import compiled, compiles_itself, force_backend
from .failures import FailedError, failure, failure_of
from .isolate import call_in_children
from .observe import fresh_calls
from .program import Program, build, install_texts, load_module, seed, set_threads
from .wire import FailureData, Launches, Limits, MeasureParams, MeasureResult, Timed

DEFAULT = "inductor"
MARGIN = 1.5  # seconds of the limit that are left to answer
SAMPLE_SECONDS = 0.05  # that a sample takes at least, unless one call takes longer
MOST_CALLS = 2000  # in one sample
WARM_CALLS = 3  # before anything is counted
FEWEST, MOST = 5, 25  # samples of each program
ENOUGH = 8.0  # seconds after which, at the fewest samples, no more are made
_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")
_GRAPH_LAUNCH = "cudaGraphLaunch"
_NO_COMPILER = (
    "Inductor needs a C++ compiler and finds none that works.",
    "Install g++ or clang++ (or set CXX to one), or choose another backend (--backend aot_eager).",
)


@dataclass(frozen=True)
class Request:
    """What both programs are told. `deadline` is of `time.monotonic`."""

    params: MeasureParams
    folder: str
    deadline: float


@dataclass(frozen=True)
class Found:
    """What one program showed, or why it did not."""

    timed: Timed | None
    device: str = "cpu"
    backend: str = DEFAULT
    failure: FailureData | None = None
    alone: bool = False  # it failed only because the other did


def measure(params: MeasureParams, progress: Callable[[str], None]) -> MeasureResult:
    """Time both programs. Never raises for what they do: then `failure` says which of them failed, and how."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="graphmend-") as folder:
        deadline = started + params["limits"]["seconds"] - MARGIN
        request = Request(params, folder, deadline)
        progress("timing the original and the mended program in turn")
        mended = {**params["texts"], **params["candidates"][0]["texts"]}
        limits = Limits(seconds=max(0.1, deadline - time.monotonic()), memory_mb=params["limits"]["memory_mb"])
        jobs = [partial(_timed, request, 0, params["texts"]), partial(_timed, request, 1, mended)]
        outcomes = call_in_children(jobs, limits, 2, "call")
    found = [one.value or Found(None, failure=one.failure) for one in outcomes]
    device, backend = found[0].device, found[0].backend
    for one, which in sorted(zip(found, ("original", "mended"), strict=True), key=lambda pair: pair[0].alone):
        if one.failure is not None:
            why = FailureData(**{**one.failure, "message": f"the {which} program: {one.failure['message']}"})
            return MeasureResult(backend=backend, device=device, original=None, mended=None, failure=why)
    return MeasureResult(
        backend=backend, device=device, original=found[0].timed, mended=found[1].timed, failure=None
    )  # fmt: skip


def _timed(request: Request, number: int, texts: Mapping[str, str]) -> Found:
    """In the child of one program: all of its samples."""
    alternation = Alternation(request.folder, number, request.deadline)
    with alternation.present():
        try:
            return _take_samples(request, alternation, texts)
        except LeftAloneError as error:
            return Found(
                None, failure=failure("call", "timeout", f"GraphMend could not measure it: {error}."), alone=True
            )
        except FailedError as error:
            return Found(None, failure=error.failure)
        except Exception as error:
            return Found(None, failure=_explained(error))


def _take_samples(request: Request, alternation: Alternation, texts: Mapping[str, str]) -> Found:
    params, told = request.params, request.params["backend"]
    _own_caches(os.path.join(request.folder, f"caches-{alternation.number}"))
    if told:
        _check_backend(told)
        force_backend(told)
    else:
        allow_breaks()
    install_texts(dict(texts))
    with alternation.turn():
        program = build(
            load_module(params["entry"], params["roots"]), params["entry"], params["device"], params["mode"]
        )
        set_threads()
        by_itself = not told and compiles_itself(program.callable)
        call = caller(program, compiled(program.callable, told or DEFAULT), params["mode"])
        first = call(1)
        call(WARM_CALLS)
    times = [*_rounds(alternation, call)]
    return Found(
        Timed(first=first, warm=times, launches=launches_of(call, program.device)),
        program.device,
        "the program's own backend" if by_itself else told or DEFAULT,
    )


def _rounds(alternation: Alternation, call: Callable[[int], float]) -> list[float]:
    """The seconds of a call, sample by sample: side 0 says when it is enough."""
    with alternation.turn():  # the other's first call, which compiles, is waited for here
        calls = calls_for(call(1))
    begun = time.monotonic()
    patience = max(ENOUGH, (alternation.deadline - begun) / 2)
    times: list[float] = []
    over = False
    while not over:
        spent, samples = time.monotonic() - begun, len(times) + 1
        last = (samples >= FEWEST and (samples >= MOST or spent > ENOUGH)) or spent > patience
        with alternation.turn(last=last and alternation.number == 0):
            call(1)  # what the other left in the processor's caches is put right
            times.append(call(calls) / calls)
            over = alternation.is_over if alternation.number else last
    return times


def calls_for(seconds: float) -> int:
    """How many calls of that many seconds make a sample."""
    return max(1, min(MOST_CALLS, round(SAMPLE_SECONDS / max(seconds, 1e-9))))


def caller(program: Program, function: Callable[..., Any], mode: str) -> Callable[[int], float]:
    """What makes the entry's calls that many times and tells how many seconds they took; in train mode with backward.

    The arguments are copied before the time begins, so that a program that changes them does not go astray.
    """
    import torch

    wait = torch.cuda.synchronize if program.device.startswith("cuda") else lambda: None
    own = [(call.args, call.kwargs) for call in program.calls]

    def run(times: int) -> float:
        calls = fresh_calls(own)
        seed()
        spent = 0.0
        for _ in range(times):
            wait()
            begun = time.perf_counter()
            for args, kwargs in calls:
                output = function(*args, **kwargs)
                if mode == "train":
                    backward(output)
            wait()
            spent += time.perf_counter() - begun
        return spent

    return run


def launches_of(call: Callable[[int], float], device: str) -> Launches | None:
    """What one call launches on the device; None where there is none, or where it cannot be seen."""
    if not device.startswith("cuda"):
        return None
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            call(1)
        names = [event.name for event in seen.events()]
    except (RuntimeError, AssertionError):  # another profiler is at work, or the driver does not let us
        return None
    return count_launches(names)


def count_launches(names: list[str]) -> Launches:
    """Kernels launched one by one, and CUDA graphs launched, among the events of a profile."""
    kernels = sum(name in _LAUNCHES for name in names)
    return Launches(kernels=kernels, cuda_graphs=names.count(_GRAPH_LAUNCH))


def allow_breaks() -> None:
    """Programs that ask for ``fullgraph=True`` are compiled without: the original would end at its first break."""
    import torch

    original = torch.compile

    @functools.wraps(original)
    def compile_with_breaks(model: Any = None, **options: Any) -> Any:
        return original(model, **{**options, "fullgraph": False})

    torch.compile = compile_with_breaks


def _check_backend(name: str) -> None:
    from torch._dynamo import list_backends

    known = list_backends(exclude_tags=())
    if name not in known:
        shown = ", ".join(sorted(one for one in known if "_" not in one or one.startswith("aot_eager")))
        raise FailedError(
            failure("call", "exception", f"torch has no backend {name!r}.", f"Choose one of them, such as {shown}.")
        )


def _own_caches(folder: str) -> None:
    """Compilers keep what they make in this folder: nothing is found from another time, or from the other program."""
    os.makedirs(folder)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")


def _explained(error: Exception) -> FailureData:
    """The failure that it is; one of a missing compiler as what it is."""
    link: BaseException | None = error
    while link is not None:
        if "InvalidCxxCompiler" in (type(link).__name__, *str(link).split(":")[:2]) or "No working C++" in str(link):
            return failure("call", "exception", *_NO_COMPILER)
        link = link.__cause__ or link.__context__
    return failure_of(error, "call")
