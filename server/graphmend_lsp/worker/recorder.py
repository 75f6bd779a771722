"""Every graph break that TorchDynamo commits in this process, as data of the wire; also its graphs and skipped frames.

Four taps into torch._dynamo: (1) the exceptions that carry a break, where they are made, for exact places and the
parts of the message; (2) `log_graph_break`, through which every committed break of a traced frame goes; (3) the
compilation of a frame, for what is not logged there; (4) the call of the backend, for the graphs. Dynamo's behaviour
does not change, but for the lines in the code that it makes, which a defect of torch gets wrong.
Imports torch; a `Recorder` is installed once in a child process that ends soon.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Literal, Protocol

from .failures import said_by
from .stacks import above, carried, inlined, joined, name_of, original_name, raised_in, translators
from .wire import BreakData, Cause, FrameData, GraphData, SkipData

CONTEXT_LIMIT = 2000
RAISING = ("Unsupported", "UserError", "StepUnsupported")
HOOKS = {
    "torch._dynamo.exc": ("Unsupported", "UserError"),
    "torch._dynamo.symbolic_convert": ("InstructionTranslatorBase", "InstructionTranslatorBase.log_graph_break"),
    "torch._dynamo.convert_frame": ("_compile",),
    "torch._dynamo.output_graph": ("OutputGraph", "OutputGraph.call_user_compiler"),
}
_CANNOT_RESUME = "Encountered graph break that we cannot resume"
_UNITS = 8  # of code, for which one entry of a table of lines may stand
_FRAME_GIVEN_UP = "Failed to handle graph break gracefully"
_Outcome = Literal["resumed", "rest skipped", "frame skipped", "raised", "refused"]


class Clock(Protocol):
    """Times what the backend made of graphs (`shares`)."""

    on_cuda: bool
    running: bool
    graphs: dict[int, float]

    def timed(self, number: int, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """What the backend made of graph `number`, under this clock."""
        ...

    def now(self) -> float:
        """Seconds."""
        ...


@dataclass(frozen=True)
class Captured:
    """What is known of a break when its exception is made. `origin` is the break it is a consequence of."""

    cause: Cause
    frames: tuple[FrameData, ...]
    origin: Captured | None

    @property
    def root(self) -> Captured:
        """The first in the chain of causes."""
        return self.origin.root if self.origin is not None else self


def missing_hooks(hooks: Mapping[str, Sequence[str]] = HOOKS) -> list[str]:
    """Those of the names in torch, by default the recorder's own, that are not there; empty when all is well."""
    missing = []
    for module_name, names in hooks.items():
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            missing.append(module_name)
            continue
        for name in names:
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is None:
                missing.append(f"{module_name}.{name}")
    return missing


class Recorder:
    """What has been recorded so far. Set `call` before each call of the program.

    `on_record` is told each record as it comes, with its kind, so that a death of the process loses nothing.
    `refusing`: Dynamo leaves frames that it fails on to Python (`suppress_errors`), and each failure is recorded as such.
    """

    def __init__(self, on_record: Callable[[str, Any], None] | None = None) -> None:
        self.call = 0
        self.events: list[BreakData] = []
        self.graphs: list[GraphData] = []
        self.skipped: list[SkipData] = []
        self.refusing = False
        self.clock: Clock | None = None  # set before the first call where graphs are to be timed
        self._begun = 0  # how many events there were when the compilation under way began
        self._on_record = on_record

    def restart(self, refusing: bool) -> None:
        """Forget all, and tell nobody what comes."""
        for records in (self.events, self.graphs, self.skipped):
            records.clear()
        self.call, self._begun, self.refusing, self._on_record = 0, 0, refusing, None

    def install(self) -> None:
        """Tap torch._dynamo from now on, for as long as this process lives."""
        from torch._dynamo import bytecode_transformation, convert_frame, exc, guards, output_graph, symbolic_convert

        for name in RAISING:
            if (cls := getattr(exc, name, None)) is not None:
                self._tap_exception(cls, symbolic_convert.InstructionTranslatorBase)
        self._base = symbolic_convert.InstructionTranslatorBase
        self._tap_log(self._base)
        self._tap_compile(convert_frame, exc)
        self._tap_backend(output_graph.OutputGraph)
        _keep_lines(bytecode_transformation)
        if hasattr(guards, "profile_guard_manager"):
            guards.profile_guard_manager = _no_latency  # a probe that is most of the time of compiling a small frame

    def _tap_exception(self, cls: Any, base: type) -> None:
        original = cls.__init__

        @functools.wraps(original)
        def __init__(error: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(error, *args, **kwargs)
            error._graphmend = _capture(error, base)

        cls.__init__ = __init__

    def _tap_log(self, base: Any) -> None:
        original = base.log_graph_break

        @functools.wraps(original)
        def log_graph_break(
            translator: Any, code_options: Any, reason: str, exc: Any, *args: Any, **kwargs: Any
        ) -> Any:
            if not getattr(exc, "logged", False):
                self._record(exc, _outcome(reason), translator.f_code, above(1))
            return original(translator, code_options, reason, exc, *args, **kwargs)

        base.log_graph_break = log_graph_break

    def _tap_compile(self, convert_frame: Any, exc: Any) -> None:
        original = convert_frame._compile
        soft = tuple(filter(None, (getattr(exc, name, None) for name in ("Unsupported", "UserError"))))
        hard = getattr(exc, "UncapturedHigherOrderOpError", ())
        inner = tuple(
            filter(None, (getattr(exc, name, None) for name in ("RestartAnalysis", "SkipFrame", "ObservedException")))
        )

        @functools.wraps(original)
        def _compile(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            self._begun = len(self.events)
            try:
                return original(code, *args, **kwargs)
            except exc.TorchDynamoException as error:
                if not getattr(error, "_graphmend_recorded", False) and not isinstance(error, inner):
                    skips = (
                        isinstance(error, soft) and not isinstance(error, hard) and not _raises(original, args, kwargs)
                    )
                    fails: _Outcome = "refused" if self.refusing else "raised"
                    self._record(error, "frame skipped" if skips else fails, code, above(1))
                raise
            except Exception as error:
                if self.refusing and not getattr(error, "_graphmend_recorded", False):
                    self._record(error, "refused", code, above(1))
                raise

        convert_frame._compile = _compile

    def _tap_backend(self, output_graph: Any) -> None:
        original = output_graph.call_user_compiler

        @functools.wraps(original)
        def call_user_compiler(graph: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            code: CodeType | None = getattr(getattr(graph, "root_tx", None), "f_code", None)
            ops = sum(node.op in ("call_function", "call_method", "call_module") for node in module.graph.nodes)
            data = GraphData(
                ops=ops,
                function=original_name(name_of(code)) if code else "",
                file=code.co_filename if code else "",
                line=code.co_firstlineno if code else 0,
                call=self.call,
                events=len(self.events),
                ends=max(len(self.events) - self._begun, 0),
            )
            self.graphs.append(data)
            self._tell("graph", data)
            made = original(graph, module, *args, **kwargs)
            return made if self.clock is None else self.clock.timed(len(self.graphs) - 1, made)

        output_graph.call_user_compiler = call_user_compiler

    def _record(self, error: Any, outcome: _Outcome, code: CodeType, outer: list[FrameData]) -> None:
        error._graphmend_recorded = True
        captured = getattr(error, "_graphmend", None)
        if not isinstance(captured, Captured):
            captured = Captured(_plain_cause(error), (), None)
        root = captured.root
        if outcome == "refused":
            captured = root = replace(root, cause=_failing(error, root.cause))
        inner = list(root.frames or captured.frames) or carried(getattr(error, "real_stack", None))
        if outcome == "refused" and (traced := raised_in(error, self._base)):
            inner = inlined(traced)
        if not inner:
            inner = [_start_of(code)]
        data = BreakData(
            cause=captured.cause,
            root=root.cause,
            outcome=outcome,
            frames=joined(outer, inner),
            compiled=original_name(name_of(code)),
            call=self.call,
        )
        if data["compiled"] != name_of(code):
            data["resuming"] = True
        self.events.append(data)
        self._tell("event", data)
        if outcome in ("frame skipped", "refused"):
            skip = SkipData(
                function=data["compiled"],
                file=code.co_filename,
                line=code.co_firstlineno,
                reason=root.cause["gb_type"],
                call=self.call,
            )
            self.skipped.append(skip)
            self._tell("skip", skip)

    def _tell(self, kind: str, data: Any) -> None:
        if self._on_record is not None:
            self._on_record(kind, data)


def _outcome(reason: str) -> _Outcome:
    if reason.startswith(_CANNOT_RESUME):
        return "rest skipped"
    return "frame skipped" if reason.startswith(_FRAME_GIVEN_UP) else "resumed"


def _raises(compile_frame: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the caller of this compilation asked for one graph or an error (``fullgraph=True``, `error_on_graph_break`)."""
    try:
        told = inspect.signature(compile_frame).bind_partial(None, *args, **kwargs).arguments
    except (TypeError, ValueError):
        return False
    box = told.get("convert_frame_box")
    return bool(told.get("one_graph")) or bool(getattr(box, "error_on_graph_break", False))


def _capture(error: Any, base: type) -> Captured:
    """Runs inside the exception's `__init__`; whatever it cannot find it leaves out."""
    try:
        frames = tuple(inlined(translators(base, 2)))
        frame: Any = sys._getframe(2)
        for _ in range(6):
            if frame is None:
                break
            if frame.f_code.co_name in ("unimplemented", "unimplemented_v2"):
                return _from_unimplemented(frame.f_locals, error, frames)
            frame = frame.f_back
        return Captured(_plain_cause(error), frames, None)
    except Exception:
        return Captured(_plain_cause(error), (), None)


def _from_unimplemented(said: dict[str, Any], error: Any, frames: tuple[FrameData, ...]) -> Captured:
    gb_type = str(said.get("gb_type") or getattr(error, "gb_type", None) or type(error).__name__)
    cause = Cause(
        gb_id=gb_id(gb_type),
        gb_type=gb_type,
        context=str(said.get("context") or "")[:CONTEXT_LIMIT],
        explanation=str(said.get("explanation") or "")[:CONTEXT_LIMIT],
        hints=[str(hint)[:CONTEXT_LIMIT] for hint in said.get("hints") or ()],
    )
    origin = getattr(said.get("from_exc"), "_graphmend", None)
    return Captured(cause, frames, origin if isinstance(origin, Captured) else None)


def _plain_cause(error: Any) -> Cause:
    gb_type = str(getattr(error, "gb_type", None) or type(error).__name__)
    said = str(getattr(error, "msg", None) or error)
    return Cause(gb_id=gb_id(gb_type), gb_type=gb_type, context="", explanation=said[:CONTEXT_LIMIT], hints=[])


def _failing(error: BaseException, cause: Cause) -> Cause:
    return Cause(**{**cause, "explanation": said_by(error)[:CONTEXT_LIMIT], "hints": []})


def gb_id(gb_type: str) -> str | None:
    """The registry's id of a type of break, as this torch knows it."""
    from torch._dynamo import exc

    load = getattr(exc, "_load_gb_type_to_gb_id_map", None)
    try:
        found = load().get(gb_type) if load is not None else None
    except Exception:  # the registry file is missing or unreadable
        return None
    return str(found) if found else None


def _start_of(code: CodeType) -> FrameData:
    return FrameData(
        file=code.co_filename, line=code.co_firstlineno, column=None, end_line=None, end_column=None,
        function=original_name(name_of(code)), kind="code",
    )  # fmt: skip


def _no_latency(*_args: Any) -> float:
    return 0.0


def _keep_lines(transformation: Any) -> None:
    """Have Dynamo write the lines of the functions that it resumes as they are.

    It counts the step to a line twice for an instruction of more than eight units, as that of a method, so that all places behind
    are lines off (torch 2.13). A torch that is made otherwise stays as it is.
    """
    original = getattr(transformation, "linetable_311_writer", None)
    if not callable(original):
        return

    def writer(first: int) -> Any:
        table, update = original(first)

        def update_in_steps(positions: Any, size: int) -> None:
            while size > _UNITS:
                update(positions, _UNITS)
                size -= _UNITS
            update(positions, size)

        return table, update_in_steps

    transformation.linetable_311_writer = writer
