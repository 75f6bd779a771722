"""One analysis: run all calls of an entry under torch.compile with the cheapest backend and tell what was recorded.

Runs in a child process that ends with it. What was recorded before a failure stays.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from .ahead import looking_ahead
from .backward import backward
from .compiling import compiled, force_backend
from .failures import FailedError, failure_of
from .noting import ready
from .program import Call, Program, build, install_texts, load_module, seed, set_threads
from .recorder import Recorder
from .refused import record_refusal
from .shares import Clock, add_shares
from .wire import AnalyseParams, AnalyseResult, FailureData, FailureStage

Say = Callable[[Any], None]
BACKEND = "eager"


def analyse(
    params: AnalyseParams, on_stage: Callable[[FailureStage], None] | None = None, post: Say | None = None
) -> AnalyseResult:
    """Run the entry; never raises for what the program does, except what ends a process.

    `on_stage` is told what begins; `post` each record as ``(kind, data)``; kind: event, graph, skip, calls or device, and
    of a `live` one ahead: an event that the run is about to meet (`ahead`).
    """
    begun = time.perf_counter()
    say = post or (lambda _message: None)
    enter = on_stage or (lambda _stage: None)
    result = empty_result()
    try:
        enter("load")
        force_backend(BACKEND)
        install_texts(params["texts"])
        module = load_module(params["entry"], params["roots"])
        if params.get("run") == "fake":
            from .fake import run_fake

            run_fake(params, module, result, enter, say)
        else:
            _run_real(params, module, result, enter, say)
    except FailedError as error:
        result["failure"] = error.failure
    result["seconds"] = time.perf_counter() - begun
    return result


def empty_result() -> AnalyseResult:
    """A result in which nothing was recorded yet."""
    return AnalyseResult(events=[], graphs=[], skipped=[], calls=0, device="cpu", seconds=0.0, failure=None)


def _run_real(
    params: AnalyseParams, module: ModuleType, result: AnalyseResult, enter: Callable[[FailureStage], None], say: Say
) -> None:
    import torch

    recorder = Recorder(lambda kind, data: say((kind, data)))
    result["events"], result["graphs"], result["skipped"] = recorder.events, recorder.graphs, recorder.skipped
    enter("entry")
    set_threads()
    make = partial(build, module, params["entry"], params["device"], params["mode"])
    alone = params["limits"]["memory_mb"] is None  # a fork's memory is counted, too
    begun = time.perf_counter()
    with contextlib.ExitStack() as stack:
        noting = None
        if alone and params["device"] != "cpu" and torch.version.cuda is not None:
            noting = stack.enter_context(ready(make, params["mode"]))  # no fork can use CUDA after this process has
        program = make()
        result["calls"], result["device"] = len(program.calls), program.device
        say(("calls", len(program.calls)))
        say(("device", program.device))
        enter("call")
        if alone and noting is None:
            noting = stack.enter_context(ready(lambda: program, params["mode"]))
        if alone and params.get("live") is True:
            stack.enter_context(
                looking_ahead(program, partial(_first_call, program), lambda event: say(("ahead", event)))
            )
        timed = params.get("timed") is True
        recorder.clock = Clock() if timed else None
        recorder.install()
        function = compiled(program.callable, BACKEND)
        result["failure"] = failed = _calls(params["mode"], enter, program, recorder, function)
        if failed is not None:
            recorder.clock = None
            del program, function
            calls = partial(_calls, params["mode"], enter)
            result["failure"] = record_refusal(failed, make, calls, recorder)
        if noting is not None:
            result["noted"] = noting.take(recorder.events, time.perf_counter() - begun)
        if timed and failed is None:
            add_shares(program, function, params["mode"], recorder)


def _calls(
    mode: str,
    enter: Callable[[FailureStage], None],
    program: Program,
    recorder: Recorder,
    function: Callable[..., Any] | None = None,
) -> FailureData | None:
    function = compiled(program.callable, BACKEND) if function is None else function
    for number, call in enumerate(program.calls):
        recorder.call = number
        seed()
        stage: FailureStage = "call"
        try:
            output = _call(function, call)
            if mode == "train":
                stage = "backward"
                enter(stage)
                backward(output)
                enter("call")
        except Exception as error:
            return failure_of(error, stage)
    return None


def _first_call(program: Program) -> None:
    seed()
    _call(compiled(program.callable, BACKEND), program.calls[0])


def _call(function: Callable[..., Any], call: Call) -> Any:
    return function(*call.args, **call.kwargs)
