"""The fake run: an entry built and called with tensors that have no data, so that neither weights nor inputs cost memory.

Dynamo follows the program as it would in a real run; what eager code asks of values an oracle answers, in several runs
with other answers, so that both sides of conditions on values are seen. Runs in a child process that ends with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from .backward import backward, tensors_in
from .compiling import compiled, set_up_torch
from .explore import Explored, Once, events_of, explore, in_order, site_of
from .failures import FailedError, failure, failure_of
from .fake_mode import forget_values, missing_hooks, new_mode
from .fake_python import fake_python
from .oracle import EndlessError, Oracle, Profile
from .parts import parts_of
from .program import Call, Program, build, seed
from .recorder import Recorder
from .wire import AnalyseParams, AnalyseResult, BreakData, FailureData, FailureStage

BACKEND = "eager"
EXPLORE = 8  # runs, where the request does not say
_SHARE = 0.5  # of the request's time, after which no further run begins
_NO_CUDA = ("not linked with support for cuda", "not compiled with CUDA")
_CUDA_REMEDY = "Install a torch with CUDA, or let the entry choose its device with torch.cuda.is_available()."
_WITHOUT_DATA = "A run without data cannot answer this. Run the entry with its data (--run real)."

Say = Callable[[Any], None]


def run_fake(
    params: AnalyseParams,
    module: ModuleType,
    result: AnalyseResult,
    enter: Callable[[FailureStage], None],
    say: Say,
) -> None:
    """Explore the entry of the loaded `module` and fill in `result`.

    Raises:
        FailedError: this torch lacks what a fake run needs, or cannot follow the wanted device without having it.
    """
    missing = missing_hooks()
    if missing:
        words = f"A run without data is not possible: this torch lacks {', '.join(missing)}."
        raise FailedError(failure("worker", "old-torch", words, "Run the entry with its data (--run real)."))
    begun = time.perf_counter()
    seconds = params["limits"]["seconds"] * _SHARE
    runs = _Runs(params, module, result, enter, say)
    with fake_python(runs.mode, lambda: runs.oracle):
        found = explore(runs.once, params.get("explore", EXPLORE), lambda: time.perf_counter() - begun < seconds)
    result["events"], result["in_order"] = events_of(found.runs), in_order(found)
    result["graphs"] = list(found.main.graphs) if found.main else []
    result["skipped"] = _skipped(found)
    result["failure"] = found.failure
    result["explored"], result["unexplored"] = found.made, found.left


class _Runs:
    """The runs of one request: what they share, and the one that is going on."""

    def __init__(
        self,
        params: AnalyseParams,
        module: ModuleType,
        result: AnalyseResult,
        enter: Callable[[FailureStage], None],
        say: Say,
    ) -> None:
        self.oracle = Oracle()
        self._params, self._module = params, module
        self._recorder = Recorder(self._recorded)
        self._recorder.install()
        self._events: list[tuple[int, BreakData]] = []
        self._result, self._enter, self._say = result, enter, say
        self.mode = new_mode(lambda: self.oracle)
        self._told: set[tuple[object, ...]] = set()
        self._made = 0

    def once(self, script: Any, profile: Profile) -> Once:
        """Build the program anew and make all its calls."""
        import torch

        self.oracle = Oracle(profile=profile)  # what the entry itself asks is no condition of the program
        self._events = []
        recorder = self._recorder
        recorder.call = 0
        recorder.events, recorder.graphs, recorder.skipped = [], [], []
        torch._dynamo.reset()
        why: FailureData | None = None
        try:
            with self.mode:
                program = self._program()
                self.oracle = Oracle(tuple(script), profile)
                why = self._calls(program)
        except FailedError as error:
            why = error.failure
        except EndlessError:
            why = failure("call", "timeout", "The program never stops asking its tensors for values.", _WITHOUT_DATA)
        self._made += 1
        self._told |= {site_of(event) for _, event in self._events}
        oracle = self.oracle
        return Once(
            answers=tuple(oracle.answers),
            events=tuple(self._events),
            graphs=tuple(recorder.graphs),
            skipped=tuple(recorder.skipped),
            asked=bool(oracle.numbers or oracle.shapes),
            failure=None if why is None else self._told_why(why),
        )

    def _told_why(self, why: FailureData) -> FailureData:
        """The failure, saying so where it may come from the lack of data, or of a device."""
        oracle = self.oracle
        if any(words in why["message"] for words in _NO_CUDA):
            return FailureData(**{**why, "kind": "device", "remedy": _CUDA_REMEDY})
        if oracle.answers or oracle.numbers or oracle.shapes or "FakeTensor" in why["message"]:
            return FailureData(**{**why, "remedy": _WITHOUT_DATA})
        return why

    def _program(self) -> Program:
        self._enter("entry")
        params = self._params
        set_up_torch()  # values that are not there are never those that a distribution allows
        program = build(self._module, params["entry"], "cpu" if params["device"] == "cpu" else "auto", params["mode"])
        if params["device"] == "cuda":
            program = _on_cuda(program)
        weights = [tensor for part in parts_of(program.callable) for tensor in part.parameters()]
        inputs = list(tensors_in([(call.args, call.kwargs) for call in program.calls]))
        forget_values([*weights, *inputs], self.mode)
        if not self._made:
            self._result["calls"], self._result["device"] = len(program.calls), program.device
            self._result["tensor_bytes"] = _bytes(program, inputs)
            free = available_bytes()
            limit = params["limits"]["memory_mb"]
            known = [one for one in (free, None if limit is None else limit * 2**20) if one is not None]
            if known:
                self._result["available_bytes"] = min(known)
            self._say(("calls", len(program.calls)))
            self._say(("device", program.device))
        return program

    def _calls(self, program: Program) -> FailureData | None:
        self._enter("call")
        function = compiled(program.callable, BACKEND)
        for number, call in enumerate(program.calls):
            self._recorder.call = number
            seed()
            stage: FailureStage = "call"
            try:
                output = function(*call.args, **call.kwargs)
                if self._params["mode"] == "train":
                    stage = "backward"
                    backward(output)
            except Exception as error:
                return failure_of(error, stage)
        return None

    def _recorded(self, kind: str, data: Any) -> None:
        """Note how much was answered before a break; tell what no earlier run has told."""
        if kind == "event":
            self._events.append((len(self.oracle.answers), data))
            if site_of(data) not in self._told:
                self._say((kind, {**data, "answers": list(self.oracle.answers)}))
        elif not self._made:
            self._say((kind, data))


def _on_cuda(program: Program) -> Program:
    """The program on a CUDA device, whether there is one or not.

    Raises:
        FailedError: this torch has no CUDA in it.
    """
    import torch
    from torch.utils import _pytree

    if torch.version.cuda is None:
        words = "This torch is built without CUDA and has no CUDA tensors, even without data."
        raise FailedError(failure("entry", "device", words, "Choose device auto or cpu, or install a torch with CUDA."))

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device.type == "cuda":
            return value
        moved = value.detach().to("cuda")
        return moved.requires_grad_() if value.requires_grad else moved

    for part in parts_of(program.callable):
        part.to("cuda")
    calls = [Call(_pytree.tree_map(move, call.args), _pytree.tree_map(move, call.kwargs)) for call in program.calls]
    return replace(program, calls=calls, device="cuda")


def _bytes(program: Program, inputs: list[Any]) -> int:
    """What parameters, buffers and inputs would take, each storage once."""
    tensors = [*inputs]
    for part in parts_of(program.callable):
        tensors += [*part.parameters(), *part.buffers()]
    sizes: dict[int, int] = {}
    for tensor in tensors:
        try:
            storage = tensor.untyped_storage()
            sizes[storage._cdata] = storage.nbytes()
        except (RuntimeError, NotImplementedError):  # a tensor without a storage: sparse, nested
            sizes[id(tensor)] = tensor.numel() * tensor.element_size()
    return sum(sizes.values())


def available_bytes() -> int | None:
    """Memory that this machine has free for a new process; None where that is not known."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _skipped(found: Explored) -> list[Any]:
    """The skipped frames of the program's own run."""
    return list(found.main.skipped) if found.main else []
