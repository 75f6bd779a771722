"""The words engine and worker exchange: one JSON object a line, over the worker's stdin and stdout.

The one module both sides share; it may import the standard library only, and nothing of this project.

A request is ``{"id": int, "method": str, "params": {...}}``; methods are ``analyse``, ``verify``, ``measure``, ``cancel``
(params ``{"id": int}``; the cancelled request answers with a `Failure` of kind ``cancelled``) and ``shutdown``.
A reply is ``{"id": int, "result": {...}}``. A request that cannot be carried out still has a result: one with a `failure`.
The worker says ``{"hello": Hello}`` first, before any request, and may say ``{"id": int, "progress": {"message": str}}``.

Places: lines are 1-based, columns are 0-based and count UTF-8 bytes, as in `ast` and in code positions of CPython.
A column is None where CPython knows none. Files are absolute paths.
"""

from __future__ import annotations

from typing import Literal, TypedDict

PROTOCOL = 1

FailureStage = Literal["worker", "load", "entry", "call", "backward", "compare"]
FailureKind = Literal[
    "syntax",
    "import",
    "exception",
    "timeout",
    "memory",
    "exit",
    "crash",
    "no-torch",
    "old-torch",
    "no-worker",
    "bad-entry",
    "no-inputs",  # of an entry whose inputs are made up: none were found that the program takes
    "device",
    "cancelled",
    "protocol",
]


class _Reduced(TypedDict, total=False):
    reduced: dict[str, list[str]]  # what this torch does not allow, in words, and the hooks that it lacks for it


class Hello(_Reduced):
    """Who the worker is. `torch` is None when torch cannot be imported, with `failure` saying why."""

    protocol: int
    torch: str | None
    python: str
    executable: str
    cuda: bool
    missing: list[str]  # hooks of torch._dynamo that the recorder needs and this torch lacks
    failure: FailureData | None


class FailureData(TypedDict):
    """See `graphmend_lsp.model.Failure`."""

    stage: FailureStage
    kind: FailureKind
    message: str
    remedy: str
    path: str | None
    line: int | None
    detail: str


class EntrySpec(TypedDict):
    """See `graphmend_lsp.model.Entry`."""

    file: str
    function: str
    kind: Literal["function", "kernelbench", "transformers", "compiled", "module", "called"]


class Place(TypedDict):
    """A stretch of a file."""

    file: str
    line: int
    column: int | None
    end_line: int | None
    end_column: int | None


class FrameData(Place):
    """A link of a call chain. `kind`: see `graphmend_lsp.model.Frame`."""

    function: str
    kind: Literal["code", "stdlib", "torch", "logger"]


class Cause(TypedDict):
    """What Dynamo says of a break: the registry's id and type, and the message's parts."""

    gb_id: str | None
    gb_type: str
    context: str
    explanation: str
    hints: list[str]


class Answer(Place):
    """A condition on values, and which side a fake run took there."""

    value: bool


class _Answers(TypedDict, total=False):
    answers: list[Answer]  # of a fake run: those without which the break is not met, in the order they were asked in
    resuming: bool  # where true: Dynamo was compiling the rest of the function, after an earlier break


class BreakData(_Answers):
    """One committed graph break event. `frames` is the chain from the entry's callable, outermost first, innermost last.

    `root` is the first cause in the chain of causes (the event itself when it has no other).
    `call` is the index of the entry's call during which it happened; `mode` eval or train. ``refused``: the program runs
    uncompiled, and raises here when it is compiled.
    """

    cause: Cause
    root: Cause
    outcome: Literal["resumed", "rest skipped", "frame skipped", "raised", "refused"]
    frames: list[FrameData]
    compiled: str  # the name of the frame that Dynamo was compiling
    call: int


def is_intended(event: BreakData) -> bool:
    """Whether the program asks for a break: an explicit `graph_break()`, a call of what is under `torch.compiler.disable`."""
    return not {event["root"]["gb_id"], event["cause"]["gb_id"]}.isdisjoint(("GB0025", "GB0098", "GB0099"))


class _Ordered(TypedDict, total=False):
    events: int  # break events that were recorded before it, in all calls that are told
    share: float  # of the time of its call, from 0 to 1, where that was asked for
    ends: int  # how many of the last of these are of the same compilation: they come after it in the program


class GraphData(_Ordered):
    """One graph handed to the backend: how many operators, for which function, during which call."""

    ops: int
    function: str
    file: str
    line: int
    call: int


class SkipData(TypedDict):
    """A frame that runs uncompiled because of a break."""

    function: str
    file: str
    line: int
    reason: str
    call: int


class TensorData(TypedDict, total=False):
    """See `graphmend_lsp.values.TensorFact`; None in `shape` is a size that differed, no `shape` another rank.

    `samples` are told where a size differed.
    """

    dtypes: list[str]
    ranks: list[int]
    shape: list[int | None]
    samples: list[tuple[int, list[int]]]
    gradients: list[bool]
    devices: list[str]
    layouts: list[str]
    contiguous: list[bool]


class FactData(TypedDict, total=False):
    """See `graphmend_lsp.values.ValueFact`; `kinds` is always there, what is empty is left out."""

    kinds: list[str]
    classes: list[str]
    tensor: TensorData
    constant: list[bool | int | float | str | None]
    lengths: list[int]
    keys: list[str]
    items: list[FactData]
    element: FactData
    storages: list[int] | None


class NotedValue(TypedDict):
    """What was noted at a place, ``[line, column, end line, end column]``.

    With a `name`: the place is a compound statement, and the name's value before it is told.
    """

    at: list[int]
    name: str
    value: FactData


class CallerData(TypedDict):
    """From where a function was entered, how many times."""

    file: str
    line: int
    function: str
    times: int


class NotedFunction(TypedDict):
    """A function that holds a break, as it was run uncompiled with the entry's calls; `line` is its ``def``'s."""

    file: str
    function: str
    line: int
    entered: int
    raised: int
    callers: list[CallerData]
    values: list[NotedValue]


class Limits(TypedDict):
    """Wall-clock seconds and MiB of resident memory one request may use; None: no limit."""

    seconds: float
    memory_mb: int | None


class _Fake(TypedDict, total=False):
    run: Literal["real", "fake"]  # real when absent; fake: no data, no weights, conditions on values are answered
    explore: int  # of a fake run: how many times at most it is made, each with other answers (at least 1)


class _Sent(TypedDict, total=False):
    sources: dict[str, str]  # files of the program, by path, for a worker that may have no copy; `texts` win over them


class _Kept(TypedDict, total=False):
    standing: bool  # whether `Needs.standing` is wanted


class _Live(TypedDict, total=False):
    live: bool  # whether each break is told when it is met: a message with the request's id and `event`, a BreakData


class _Timed(TypedDict, total=False):
    timed: bool  # of a real run: whether the graphs' shares of the time are wanted, for which the calls are made again


class AnalyseParams(_Fake, _Sent, _Kept, _Live, _Timed):
    """Run one entry under Dynamo. `texts` are unsaved files by path; `roots` are put on sys.path in front."""

    entry: EntrySpec
    texts: dict[str, str]
    roots: list[str]
    device: Literal["auto", "cpu", "cuda"]
    mode: Literal["eval", "train"]
    limits: Limits


class Loaded(TypedDict):
    """A source file that the program loaded: its SHA-256 as loaded (of the unsaved text where there is one), in hex."""

    file: str
    sha256: str


class Standing(TypedDict):
    """What the worker had loaded before the program: files, the folders of its sys.path, and when it began to load."""

    files: list[str]
    folders: list[str]
    begun: int  # nanoseconds since the epoch


class Needs(TypedDict):
    """What a result stands on; it holds as long as all of it is as it was when the run began.

    A name is a path without suffix: no module of that name was there; one that ends in a dot may be a folder, of one that
    ends in an exclamation mark there may be a source.
    """

    modules: list[str]  # files that were imported; an unsaved text takes the file's place
    read: list[str]  # files opened for reading, those that were not there among them
    names: list[str]
    listed: list[str]  # folders whose files' names were asked for
    doubts: list[str]  # why the result may not hold although all of it is as it was
    suffixes: list[str]  # of files that this Python imports
    begun: int  # nanoseconds since the epoch
    standing: Standing | None
    before: Needs | None  # of the process that this run was forked from, which began earlier


class _Needing(TypedDict, total=False):
    needs: Needs


class _Seen(_Needing, total=False):
    loaded: list[Loaded]  # files of the user's folders and of installed packages; not Python's own, not torch's
    explored: int  # of a fake run: how often it was made
    unexplored: int  # of a fake run: sides of conditions that were not taken because the budget was spent
    in_order: int  # of a fake run: how many of the first events are those of the run that made the graphs
    tensor_bytes: int  # of a fake run: what parameters, buffers and inputs would take
    available_bytes: int  # of a fake run: memory that is free on the worker's machine
    noted: list[NotedFunction]  # of a real run that met a break, where it could be noted


class AnalyseResult(_Seen):
    """What was recorded; complete up to `failure` when there is one."""

    events: list[BreakData]
    graphs: list[GraphData]
    skipped: list[SkipData]
    calls: int
    device: str
    seconds: float
    failure: FailureData | None


class AssumedPlace(Place):
    """A place of the original text that an assumption of this kind is about."""

    kind: str


class _Edited(TypedDict, total=False):
    edited: dict[str, list[list[int]]]  # line ranges of the original text, where only what is reached is asked for
    assumed: list[AssumedPlace]  # what the mend takes for granted there


class _Backed(_Edited, total=False):
    inductor: bool  # run it under inductor, too, with every size and value that the original takes
    lowered: bool  # it has operators in the graph that were not: a backend may take them apart, which rounds otherwise
    outlined: list[Place]  # those of `conditions` whose statements an operator runs uncompiled, as they were


class Candidate(_Backed):
    """One mended program. `conditions` are places in the original text; `changed` are line ranges of the mended text.

    A range is ``[first, last]``, both 1-based and inclusive; three-argument ``torch.where`` calls on those lines have
    the shapes, dtypes and devices of their two sides compared in a run.
    """

    id: str
    texts: dict[str, str]
    conditions: list[Place]
    changed: dict[str, list[list[int]]]


class _Known(_Sent, _Kept, total=False):
    before: CountsData | None  # of the original, from an analysis of this very entry, texts, mode and device
    alone: bool
    reached: bool  # leave out the candidates of whose `edited` functions the entry's own calls enter none
    accepted: list[str]  # the kinds of assumptions that may be broken; one that breaks others needs no inductor
    zeros: bool  # the user accepts gradients of zeros in place of none: they spare no run under inductor
    proven: bool  # the candidates are verified in all other ways: compare only what inductor compiles
    broken: list[tuple[str, int]]  # the places, file and line (from 1), at which the original's graphs break


class VerifyParams(_Known):
    """Run the original and each mended program on the same calls and compare (docs: DESIGN section 3, Verdict).

    Without `before` the original's graphs are counted in a run of its own. `alone`: no other entry or mode is asked, so that a
    candidate that gains nothing here is not offered, and need not be compiled in every way.
    """

    entry: EntrySpec
    texts: dict[str, str]  # the original program's unsaved files
    candidates: list[Candidate]
    roots: list[str]
    device: Literal["auto", "cpu", "cuda"]
    mode: Literal["eval", "train"]
    limits: Limits


class CountsData(TypedDict):
    """See `graphmend_lsp.model.Counts`, plus compilations that later calls of a seen shape caused.

    `refused`: places at which a program that runs uncompiled raises when it is compiled.
    """

    graphs: int
    breaks: int
    skipped_frames: int
    skipped_rests: int
    recompiles: int
    refused: int


class _Marked(TypedDict, total=False):
    rounded: bool  # it is more than the bound for close, and shown to be rounding: the same in float64
    fused: bool  # it is rounding that only inductor shows, which fuses operators
    undecided: bool  # no time was left for float64, which shows whether it is rounding
    assumes: str  # seen only in a use that the entry does not show: the kind of assumption that it breaks


class Difference(_Marked):
    """One thing that was not equal. `what`: output, gradient, state, stdout, stderr, log, warning, exception, graphs ...

    `where` names the part (``output[0].logits``), `call` the call's index and what was varied, `detail` both values.
    """

    what: str
    where: str
    call: str
    detail: str
    severity: Literal["close", "moved", "exception", "different"]


class _Forced(TypedDict, total=False):
    forced: (
        bool  # it is a check's, no call failed it, and it was made to fail; both values are true where nothing differed
    )
    taken: bool  # the value that no call gave it, with which both programs did the same


class SideData(_Forced):
    """Which values a condition took over all calls of the original program."""

    condition: Place
    true: bool
    false: bool


class _Probed(TypedDict, total=False):
    probed: list[str]  # kinds of assumptions that probes were made for, all of them to the end
    exercised: list[int]  # of `Candidate.assumed`, where that was given: places that a probe of the kind ran
    unmet: list[int]  # of the same: places that neither a call of the entry nor a probe ran
    untried: list[str]  # calls that were planned and not made, in words


class CandidateResult(_Probed):
    """What the comparison of one candidate showed. `events` are the breaks that the mended program still has."""

    id: str
    before: CountsData
    after: CountsData
    outputs: Literal["bit-equal", "close", "different", "not compared"]
    gradients: Literal["bit-equal", "close", "different", "not compared"]
    state: Literal["bit-equal", "close", "different", "not compared"]
    effects: Literal["equal", "moved", "different", "not compared"]
    differences: list[Difference]
    unlike_sides: list[str]  # torch.where calls whose sides differ in shape, dtype or device, in words
    sides: list[SideData]
    rounded: list[Literal["outputs", "gradients", "state"]]  # only within rounding in compiled code, reported or not
    events: list[BreakData]
    graphs: list[GraphData]
    calls: int
    seconds: float
    failure: FailureData | None


class VerifyResult(_Needing):
    """One result for each candidate, in order; `failure` when the original program itself could not be run."""

    candidates: list[CandidateResult]
    failure: FailureData | None


class MeasureParams(_Sent, _Kept):
    """Time the original against the mended program, the one candidate. `backend` None: the one the program asks for
    itself, else inductor."""

    entry: EntrySpec
    texts: dict[str, str]
    candidates: list[Candidate]
    roots: list[str]
    device: Literal["auto", "cpu", "cuda"]
    mode: Literal["eval", "train"]
    backend: str | None
    limits: Limits


class Launches(TypedDict):
    """What one warm call launches on a CUDA device: kernels one by one, and CUDA graphs."""

    kernels: int
    cuda_graphs: int


class Timed(TypedDict):
    """Seconds of the cold first call, with compiling, and of a warm one in each sample; a call is all calls of the entry."""

    first: float
    warm: list[float]
    launches: Launches | None


class MeasureResult(TypedDict):
    """Sample by sample, both programs; none when one of them failed. `backend` in words."""

    backend: str
    device: str
    original: Timed | None
    mended: Timed | None
    failure: FailureData | None
