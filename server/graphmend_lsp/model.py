"""The vocabulary every room shares: places in source text, breaks, entries, mends and verdicts.

Frozen data only: no IO, no torch, no LSP types. Everything here may be imported from everywhere in the server.

Units. A `Position` is 1-based in both line and column; columns count Unicode code points. A line ends at ``\\n``,
``\\r\\n`` or ``\\r`` and at nothing else (what the Python tokenizer and LSP both do; not `str.splitlines`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Evidence = Literal["dynamo", "recorded", "fake", "static"]
EntryKind = Literal["function", "kernelbench", "transformers", "compiled", "module", "called"]
RunKind = Literal["real", "fake", "recorded"]
Mode = Literal["eval", "train"]
Outcome = Literal["resumed", "rest skipped", "frame skipped", "raised", "refused", "unknown"]
Safety = Literal["safe", "unsafe", "wrong", "unverified"]
RatedPart = Literal["outputs", "gradients", "state"]
Likeness = Literal["bit-equal", "close", "different", "not compared"]
Effects = Literal["equal", "moved", "different", "not compared"]
AssumptionKind = Literal[
    "dtype",
    "device",
    "number-range",
    "float64",
    "late-reading",
    "message-order",
    "raised-between",
    "caught",
    "identity",
    "shared-buffer",
    "backward",
    "shapes",
    "result-shapes",
    "layout",
    "inside-effects",
    "zero-gradients",
    "callers",
    "settings",
    "one-name",
    "log-records",
    "warning-filters",
    "constant-dimension",
    "saved",
    "cost",
    "not-tried",
]
ASSUMPTIONS: Mapping[AssumptionKind, str] = {
    "dtype": "the dtype of the model and its inputs stays the same",
    "device": "the device stays the same",
    "number-range": "integers stay in the range of their dtype",
    "float64": "every number fits the precision of its tensor's dtype",
    "late-reading": "nothing changes the values that it reads later",
    "message-order": "no other code prints, logs or warns in between",
    "raised-between": "no code in between raises",
    "caught": "no code catches this exception",
    "identity": "no code asks which tensor object or memory this is",
    "shared-buffer": "no other tensor shares this memory",
    "backward": "each backward pass runs once, with no change in place before it",
    "shapes": "the shapes agree for every input",
    "result-shapes": "the operator's results always have the sizes that `like=` gives",
    "layout": "tensors have the strides that they have in the entry",
    "inside-effects": "the code inside has no hook, no effect and no lazy state",
    "zero-gradients": "a gradient of zeros may replace None",
    "callers": "every caller and override accepts this change",
    "settings": "flags and settings stay as in the entry",
    "one-name": "no other file is imported under this name",
    "log-records": "no code reads the function name or the raw message of this log record",
    "warning-filters": "no warning filter changes the outcome",
    "constant-dimension": "this dimension may become constant",
    "saved": "no values are loaded into the module, and no copy of it is made",
    "cost": "more operators and memory are affordable",
    "not-tried": "nothing differs in the uses that the time limit left untried",
}
"""What a mend may take for granted, each with the clause that follows "assumes that"."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text. `line` and `column` are 1-based, `column` in code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open stretch of text; `end` is the position just behind the last character."""

    start: Position
    end: Position

    @staticmethod
    def of(line: int, column: int, end_line: int, end_column: int) -> Span:
        """The span from four 1-based numbers."""
        return Span(Position(line, column), Position(end_line, end_column))

    def contains(self, other: Span) -> bool:
        """Whether `other` lies within this span (equal spans contain each other)."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether the spans share a character, or one is empty and touches the other."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Frame:
    """One link of a call chain: `function` in the file `path`, at the call or expression `span`.

    `kind` tells whose code it is: the user's or an installed package's (`code`), Python's own library (`stdlib`),
    `torch`, or a method of a `logging.Logger` wherever it is defined (`logger`).
    """

    path: str
    function: str
    span: Span
    kind: Literal["code", "stdlib", "torch", "logger"] = "code"


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to run: a function of a file that returns `(callable, args)`, or what can be run without one.

    `file` is an absolute path. `function` is the function's name; the model class's for ``kernelbench``, ``transformers``
    (built from its shrunk configuration) and ``module`` (inputs made up from annotations and first layers); for ``compiled``
    the name under which the file holds the compiled function, method (``Class.method``) or module; for ``called`` the name
    that the cells of a notebook call, with the arguments of those calls.
    """

    file: str
    function: str
    kind: EntryKind = "function"

    @property
    def is_made_up(self) -> bool:
        """Whether its inputs are invented, so that a failure says something about the inputs and nothing about the program."""
        return self.kind in ("transformers", "compiled", "module")

    @property
    def name(self) -> str:
        """The entry as a user writes it: ``FILE.py:FUNC``, with the file's own name only."""
        return f"{self.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.function}"


@dataclass(frozen=True, slots=True)
class Break:
    """One graph-break site. `path` and `span` are where it is shown; `chain` is how the program came there.

    `gb_id` is PyTorch's registry id (``GB0170``) or None when the event has none (then `gb_type` tells).
    `reason` is one sentence for the user. `chain` is outermost first and may go deeper than the shown site.
    `root_gb_id`/`root_gb_type` name the cause when this event is a consequence (GB7000 in a loop <- GB0059 print).
    `events` counts what Dynamo logged for this site, `graphs` how many more graphs it makes than none (at least 0).
    `evidence`: ``dynamo`` a real run met it; ``recorded`` a run of the user's own did; ``fake`` only a run without data did,
    on the side of branches that the real inputs did not take: `answers` are those conditions (path, span, value), in order.
    """

    path: str
    span: Span
    gb_id: str | None
    gb_type: str
    reason: str
    evidence: Evidence
    explanation: str = ""
    hints: tuple[str, ...] = ()
    outcome: Outcome = "unknown"
    root_gb_id: str | None = None
    root_gb_type: str | None = None
    events: int = 1
    graphs: int = 0
    entries: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    chain: tuple[Frame, ...] = ()
    answers: tuple[tuple[str, Span, bool], ...] = ()

    @property
    def code(self) -> str:
        """What the diagnostic's `code` says: the id of the root cause when known, else the type's name."""
        return self.root_gb_id or self.gb_id or self.gb_type

    @property
    def ids(self) -> frozenset[str]:
        """The ids that this break goes by: its own and its root cause's."""
        return frozenset(one for one in (self.gb_id, self.root_gb_id) if one is not None)

    @property
    def is_met(self) -> bool:
        """Whether a run on real data met it: ours, or one of the user's own."""
        return self.evidence in ("dynamo", "recorded")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace `span` of the file `path` by `text`. Edits of one mend never overlap and all refer to the old text."""

    path: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that a mend brings into a file. `scope` is the function or class (``Net.forward``) it is bound in, empty for the
    module and for attributes; `edits` are those that bind it, at least one, all of one file.
    """

    name: str
    scope: str
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that a mend takes for granted. `text` is the clause that follows "assumes that", of the kind when empty.

    `places` are pairs (file, span) in the original text that it is about; may be empty.
    """

    kind: AssumptionKind
    text: str = ""
    places: tuple[tuple[str, Span], ...] = ()

    @property
    def words(self) -> str:
        """The clause that follows "assumes that"."""
        return self.text or ASSUMPTIONS[self.kind]


@dataclass(frozen=True, slots=True)
class Belief:
    """What an expression, given as its text, was in every call that a run saw: ``a tensor``, ``a Python value``, ``False``."""

    code: str
    what: str


@dataclass(frozen=True, slots=True)
class Mend:
    """A proposed rewrite of one break.

    `conditions` are the truth-tested expressions, in the *original* text, whose both sides the verdict must see run.
    `changes` says in words what the mend changes in behaviour, if anything ("the message appears after the forward").
    `cautions` say what may differ for values or sizes that no call shows (another order of a sum): never safe then.
    `names` are those that it brings into its files, which no other mend made together with it may use.
    `serves` says in which calls alone it gains anything ("" for all); it is told where a verdict shows no gain.
    `assumes` is what it takes for granted; what neither the source nor a run discharges makes it unsafe.
    `rests_on` are facts of the run without which it would not have been made.
    `inductor`: whether it works depends on the backend, so it is proven under inductor, too.
    `regions` are the places, in the *original* texts, of the statements that it takes out of the graph as one, and of the
    functions that they call, with all breaks in them.
    """

    rule: str
    title: str
    path: str
    span: Span
    edits: tuple[TextEdit, ...]
    conditions: tuple[tuple[str, Span], ...] = ()
    changes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    names: tuple[NewName, ...] = ()
    serves: str = ""
    assumes: tuple[Assumption, ...] = ()
    rests_on: tuple[Belief, ...] = ()
    inductor: bool = False
    regions: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """A rule that applies to this kind of break and does not mend this one. `reason` is read by the user."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How a program is cut: `graphs` compiled in the call that compiled most, distinct break sites, skipped frames.

    `skipped_rests` are the breaks after which Dynamo leaves the rest of a frame to Python; `refused` are the places at
    which a program that runs uncompiled raises when it is compiled.
    """

    graphs: int
    breaks: int
    skipped_frames: int
    skipped_rests: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What running original and mended program side by side showed.

    `reasons` say, in words for the user, why it is not safe, or what is told although it is safe.
    `unreached` are conditions of which one side never ran, with the value that was never seen.
    `results` is what `safety` would be if it did not matter whether the mended program is cut less.
    `assumes` are the assumptions that nothing discharged: each makes it unsafe. `discharged` are those that the source or
    a run showed to hold, `accepted` those that the user accepts for the project, `unmet` those of places that no call ran:
    another entry's verdict decides, and where there is none they are open.
    `forced` are those of the reasons that say what no call did and GraphMend made both programs do.
    `rounded` are the parts that compiled code gave only within the bound of their dtype in some call, as torch.compile
    rounds; how they are rated says nothing of that.
    """

    safety: Safety
    reasons: tuple[str, ...]
    before: Counts
    after: Counts
    outputs: Likeness = "not compared"
    gradients: Likeness = "not compared"
    state: Likeness = "not compared"
    effects: Effects = "not compared"
    calls: int = 0
    unreached: tuple[tuple[Span, bool], ...] = ()
    seconds: float = 0.0
    results: Safety = "unverified"
    assumes: tuple[Assumption, ...] = ()
    discharged: tuple[Assumption, ...] = ()
    accepted: tuple[Assumption, ...] = ()
    unmet: tuple[Assumption, ...] = ()
    forced: tuple[str, ...] = ()
    rounded: tuple[RatedPart, ...] = ()

    @property
    def assuming(self) -> str:
        """What is taken for granted, for a title: empty where it is not that alone which makes the mend unsafe."""
        if self.safety != "unsafe" or not self.assumes or not self.reasons[0].startswith("assumes that "):
            return ""
        more = f" and {len(self.assumes) - 1} more" if len(self.assumes) > 1 else ""
        return f"assumes that {self.assumes[0].words}{more}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mend with what is known of it; `verdict` is None until the worker has run it.

    `inside` says, of a boundary that a mend-all made, why no other rule mends what it holds.
    """

    mend: Mend
    verdict: Verdict | None = None
    inside: tuple[Declined, ...] = ()

    @property
    def safety(self) -> Safety:
        """The verdict's safety, ``unverified`` before there is one."""
        return self.verdict.safety if self.verdict else "unverified"


@dataclass(frozen=True, slots=True)
class Finding:
    """A break with what can be done about it: candidates best first, and the rules that declined.

    `proposed`: whether the rules were asked yet. `behind`: mends that were declined for nothing but that the program is
    cut as before, by a break that stands behind this one; with a mend of that one they may gain.
    """

    site: Break
    candidates: tuple[Candidate, ...] = ()
    declined: tuple[Declined, ...] = ()
    proposed: bool = True
    behind: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run gave no (complete) result. `message` and `remedy` are for the user; `remedy` says what to do next.

    `path`/`line` (1-based) point at the user's code where that is known.
    """

    stage: Literal["worker", "load", "entry", "call", "backward", "compare"]
    kind: Literal[
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
        "no-inputs",
        "device",
        "cancelled",
        "protocol",
    ]
    message: str
    remedy: str
    path: str | None = None
    line: int | None = None
    detail: str = ""

    @property
    def words(self) -> str:
        """Message and remedy as sentences, for people."""
        message = self.message if self.message.endswith((".", "!", "?")) else f"{self.message}."
        return f"{message} {self.remedy}".strip()


@dataclass(frozen=True, slots=True)
class Graph:
    """A compiled graph of a strip: its operators, and the function whose code it is, with the line (1-based) it begins in.

    `share` is the part of the time of its call that it takes, from 0 to 1, where that was measured.
    """

    ops: int
    function: str
    path: str
    line: int
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a graph of a strip ends, or none could begin: a break event.

    `path` and `span` are where its `Break` is shown, if it has one: breaks that the author asked for (`intended`) or
    silenced have none. `text` is the source there. `outside` is what runs uncompiled because of it besides the span itself:
    a function's name, its file, first and last line (1-based, inclusive).
    """

    path: str
    span: Span
    code: str
    gb_type: str
    outcome: Outcome
    text: str = ""
    intended: bool = False
    outside: tuple[str, str, int, int] | None = None
    chain: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryResult:
    """How one entry fared: graphs compiled, operators in each, frames skipped because of breaks, or a failure.

    `strip` is how its program is cut, in the order in which it was compiled, of the call that compiled most graphs; empty
    where that order is not known.

    `note` is what else the user is told of the run, as a clause; may be empty. `cached`: not run now, as nothing that it
    loaded has changed.
    Of a recorded run: one program, or one rank of it, with all graphs that it compiled; its `mode` says nothing.
    """

    entry: Entry
    mode: Mode
    graphs: int
    skipped_frames: int
    ops: tuple[int, ...]
    error: Failure | None = None
    seconds: float = 0.0
    run: RunKind = "real"
    note: str = ""
    cached: bool = False
    strip: tuple[Graph | Stop, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardMark:
    """Part `number` (from 1) of `count` of a check; `plan` is the same for the parts of one check, cut the same way.

    `runs` are the entries of all parts, in order, each a word that is the same wherever the tree lies.
    """

    number: int
    count: int
    plan: str
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check. `torch`, `python` and `device` are what ran, None when only the static tier did."""

    torch: str | None
    python: str | None
    device: str | None
    entries: tuple[EntryResult, ...]
    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...] = ()
    shard: ShardMark | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """How fast one entry's mended program is beside the original; pairs are (original, mended), times are seconds.

    `first` is the cold first call, with compiling, `warm` the median of the others. `ratio` is how many times as fast the
    mended program is warm, `low` and `high` the quartiles of that over samples made side by side. `kernels` and
    `cuda_graphs` are what a warm call launches, where there is CUDA. All are None when `error` says why nothing was
    measured.
    """

    entry: Entry
    mode: Mode
    backend: str
    device: str
    first: tuple[float, float] | None = None
    warm: tuple[float, float] | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    kernels: tuple[int, int] | None = None
    cuda_graphs: tuple[int, int] | None = None
    error: Failure | None = None

    @property
    def first_ratio(self) -> float | None:
        """How many times as fast the first call is."""
        return self.first[0] / self.first[1] if self.first else None

    @property
    def is_noisy(self) -> bool:
        """Whether the samples differ so much, or are so few, that the ratio says little."""
        spread = (self.high - self.low) / self.ratio if self.ratio and self.low and self.high else 0.0
        return self.ratio is not None and (spread > 0.15 or self.samples < 3)


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a long job, for people: a message and, where it can be known, the share done in percent."""

    message: str
    percent: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A mend-all: the new text of every changed file and what was applied on the way, with the final verdict.

    The spans of what was applied are places of the original texts. `old` are the texts that the mends were made on; whoever
    writes `texts` checks first that they still stand.
    `stopped_after` are the seconds that it was given, where they were over before nothing more could be mended. `stands_on`
    are the other files that the programs loaded, outside of installed packages: the SHA-256 of each, as it was loaded.
    """

    before: Report
    after: Report
    applied: tuple[Candidate, ...]
    texts: dict[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    old: dict[str, str] = field(default_factory=dict)
    stopped_after: float | None = None
    stands_on: Mapping[str, str] = field(default_factory=dict)
