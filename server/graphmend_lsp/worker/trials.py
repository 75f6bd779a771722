"""One program run one way, in a child of its own: uncompiled, or compiled with a backend, over the calls of a plan.

The program's modules are loaded once and the children forked from there; where processes cannot fork, each loads them.
"""

from __future__ import annotations

import os
import sys
import time
import tokenize
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any, Literal, cast

import torch
import torch._dynamo

from . import inductor
from .compiling import compiled, force_backend, uncompiled, without_compiling
from .cuda import is_lost
from .effects import Listener
from .enough import Enough
from .exercised import Exercised
from .failures import FailedError, failure
from .float64 import Double, watched, widen_graph, widen_modules, widened
from .forced import Forced
from .lowered import compile_lowered
from .observe import Observation, Subject, fresh_calls, state_of
from .order import has_checks, raised_behind, watching
from .parts import find_parts
from .performing import COMPILED_SECONDS, DeviceLostError, perform
from .places import SUPPORT, canonical, kind_of
from .plan import Plan, choose
from .probe import watch_conditions, watch_wheres
from .probes import Kept
from .program import Program, build, install_texts, load_module, set_threads
from .recipes import Arguments, Recipe
from .recorder import Recorder
from .sharing import UnsharedError, fit_for_forks
from .snapshot import Snapshot, Store
from .texts import unsaved_text
from .used import assumed
from .wire import BreakData, CountsData, Difference, GraphData, Place, SideData, VerifyParams

Way = Literal["uncompiled", "eager", "aot_eager", "inductor"]
WAYS: tuple[Way, ...] = ("uncompiled", "eager", "aot_eager", "inductor")
BACKEND = "graphmend_trial"
PROGRAMS_AT_ONCE = 2
AT_ONCE = 2  # programs that compute side by side; the others wait for a slot
MOST_MODULES = 40
SLOW = 0.8  # seconds of computing that the first compiled call of a small program stays under
OPERATORS = "_graphmend_operators"
"""The support module's mark in torch: operators are operators in uncompiled code, too, so that uncompiled runs and probes show
what they do."""


@dataclass
class Backend:
    """What the backend of a trial does with a graph: it compiles it that way."""

    way: Way = "eager"
    double: Double = ""


@dataclass
class Loaded:
    """A program whose modules are imported and whose entry was not run yet.

    `files` are the canonical paths of the files whose globals are the program's own. `backend` is what every
    torch.compile of the program, at import or later, uses when it comes to compiling. `disordered` is found by aot_eager;
    `forced` are the checks that fail.
    """

    module: ModuleType
    files: frozenset[str]
    known: frozenset[str]  # modules that were there before; they are not the program's
    backend: Backend
    disordered: list[Difference]
    forced: list[Forced]

    @property
    def names(self) -> frozenset[str]:
        """The names of `files` without their folders."""
        return frozenset(os.path.basename(file) for file in self.files)


@dataclass(frozen=True)
class Imported:
    """Modules by where they stand: in files that were named, elsewhere in the program. `names` are all that were looked at."""

    names: frozenset[str] = frozenset()
    named: tuple[ModuleType, ...] = ()
    others: tuple[ModuleType, ...] = ()


@dataclass(frozen=True)
class Built:
    """A program as its entry made it, not called yet, the listener that heard it being made, and what was imported by then."""

    program: Program
    listener: Listener
    imported: Imported


@dataclass(frozen=True)
class Origin:
    """Where a program comes from. `loaded` and `built` are there where children are forks; elsewhere each child does it.

    `folder` takes what its tensors held; it must be there until all is compared. Without one that stays in memory.
    """

    params: VerifyParams
    texts: Mapping[str, str]
    files: Sequence[str]
    loaded: Loaded | None = None
    built: Built | None = None
    folder: str | None = None

    def get(self) -> Loaded:
        """The loaded program; loads it when it is not.

        Raises:
            FailedError: importing it failed.
        """
        return self.loaded or load(self.params, self.texts, self.files)


@dataclass(frozen=True)
class Trial:
    """What one program did, one way. `observations` are those of `recipes`, in order.

    `start` is the state before the first call: where two loads of one program differ in it, chance made the difference.
    `modules` are the names under which the state of its modules is found. `slow`: it takes long to compile. `paths` are
    digests of the lines that each call ran, where they were watched. `reached` are, of the `watched` places, those that each
    call ran, by number. `disordered`: what compiled code may do in front of a check that stands before it (`order`). `left`
    are the calls behind one that made a kernel fail, for another process to make. `compiled` counts graphs over all calls.
    `unsteady` are paths in the state that another run of the same program left otherwise. `lowered`: the backend may take
    operators apart that were in no graph before, and round otherwise than they do. `operators`: the program has such operators.
    """

    way: Way
    recipes: tuple[Recipe, ...]
    observations: tuple[Observation, ...]
    blobs: Mapping[str, bytes]
    counts: CountsData
    events: tuple[BreakData, ...] = ()
    graphs: tuple[GraphData, ...] = ()
    sides: tuple[SideData, ...] = ()
    unlike: tuple[str, ...] = ()
    start: Snapshot = field(default_factory=dict)
    modules: frozenset[str] = frozenset()
    slow: bool = False
    paths: tuple[str, ...] = ()
    watched: tuple[Place, ...] = ()
    reached: tuple[frozenset[int], ...] = ()
    disordered: tuple[Difference, ...] = ()
    left: tuple[Recipe, ...] = ()
    lowered: bool = False
    operators: bool = False
    compiled: int = 0
    unsteady: frozenset[str] = frozenset()

    def followed_by(self, other: Trial) -> Trial:
        """This one with the calls that were left, which another process made."""
        sides = [
            {**one, "true": one["true"] or two["true"], "false": one["false"] or two["false"]}
            for one, two in zip(self.sides, other.sides, strict=True)
        ]
        return replace(
            self,
            recipes=(*self.recipes, *other.recipes),
            observations=(*self.observations, *other.observations),
            blobs={**self.blobs, **other.blobs},
            sides=tuple(cast(SideData, one) for one in sides),
            unlike=tuple(dict.fromkeys((*self.unlike, *other.unlike))),
            reached=(*self.reached, *other.reached),
            disordered=(*self.disordered, *other.disordered),
            left=other.left,
        )


@dataclass(frozen=True)
class Planned:
    """The plan, with the entry's own calls as they were seen while it was made."""

    plan: Plan
    trial: Trial


def load(params: VerifyParams, texts: Mapping[str, str], files: Sequence[str]) -> Loaded:
    """Import the entry's file with these texts in place of files. Once in a process, before anything computes.

    Raises:
        FailedError: importing it failed.
    """
    backend = Backend()
    disordered: list[Difference] = []
    forced: list[Forced] = []

    def chosen(graph: torch.fx.GraphModule, inputs: list[Any], **options: Any) -> Any:
        if backend.double == "widened":
            widen_graph(graph)
        if backend.way == "aot_eager":
            compile_graph = watching(disordered, bool(forced)) if has_checks() else compile_lowered
            return compile_graph(graph, inputs, **options)
        return torch._dynamo.lookup_backend(backend.way)(graph, inputs, **options)

    torch._dynamo.register_backend(chosen, name=BACKEND)
    force_backend(BACKEND)
    install_texts(dict(texts))
    known = frozenset(sys.modules)
    module = load_module(params["entry"], params["roots"])
    own = frozenset(map(canonical, (*texts, *files, params["entry"]["file"])))
    return Loaded(module, own, known, backend, disordered, forced)


def build_once(origin: Origin) -> Origin:
    """The origin with its program built here, for forks of this process, each of which has it as it is now.

    Raises:
        FailedError: the entry failed.
        UnsharedError: forks of this process could not run what it has become.
    """
    loaded, params = origin.get(), origin.params
    listener = Listener()
    listener.install()
    with fit_for_forks():
        program = build(loaded.module, params["entry"], params["device"], params["mode"])
    if not listener.is_in_place():
        raise UnsharedError
    return replace(origin, built=Built(program, listener, _imported(loaded, Imported())))


def plan(
    origin: Origin, conditions: Sequence[Place], places: Sequence[Place] = (), lost: Sequence[Recipe] = ()
) -> Planned | Recipe:
    """Choose the calls by running the original uncompiled, until both sides of every condition ran.

    `places` are those that something is assumed of. Where a call makes a kernel fail, its recipe is returned: another
    process has to choose again, without the `lost` ones.

    Raises:
        FailedError: the entry failed.
    """
    params = origin.params
    subject, calls, listener = _prepare(origin, origin.get(), "uncompiled")
    sides, store = watch_conditions(conditions, text_of), Store(origin.folder)
    start = state_of(subject, store)
    with without_compiling(subject.function):
        try:
            chosen, own, store = choose(
                subject,
                calls,
                sides,
                listener,
                store,
                params["limits"]["seconds"],
                places,
                lost,
                probed=not params.get("proven"),
            )
        except DeviceLostError as error:
            if error.recipe.own:
                raise
            return error.recipe
    return Planned(
        chosen,
        Trial("uncompiled", chosen.own, tuple(own), store.blobs, _NOTHING, sides=tuple(sides.data()), start=start),
    )


def call_uncompiled(origin: Origin) -> None:
    """Build the program and make the entry's own calls, uncompiled; what they give or raise is not looked at.

    Raises:
        FailedError: the entry failed.
    """
    subject, calls, listener = _prepare(origin, origin.get(), "uncompiled")
    pristine = fresh_calls(calls)
    store = Store(origin.folder)
    with without_compiling(subject.function):
        for base in range(len(calls)):
            perform(subject, Recipe(base, own=True), calls, pristine, store, listener)


def run(
    origin: Origin,
    way: Way,
    chosen: Plan | Callable[[], tuple[Plan, Enough | None]],
    conditions: Sequence[Place] = (),
    changed: Mapping[str, Sequence[Sequence[int]]] | None = None,
    recipes: Sequence[Recipe] | None = None,
    double: Double = "",
    places: Sequence[Place] = (),
    forced: Forced | None = None,
    enough: Enough | None = None,
) -> Trial:
    """Run those calls one way, by default the plan's, fewer of them where the first one takes long to compile.

    A plan that is not there yet is asked for behind the first call, which is the first in every plan, compiled.

    Uncompiled, conditions and the `torch.where` calls on changed lines are watched, and which `places` the entry's calls
    and the probes run. `double`: in float64. `forced`: a check that fails in every call, or a side taken.
    `enough` says when calls that are left need not be made.

    Raises:
        FailedError: the entry failed.
    """
    loaded = origin.get()
    subject, given, listener = _prepare(origin, loaded, way, double)
    if forced is not None:
        if not forced.install(text_of):
            raise FailedError(failure("call", "protocol", "The check was not found."))
        loaded.forced += [forced] if forced.value is None else []
    calls, pristine = _with_copies(subject, given, double)
    store = Store(origin.folder)
    start = state_of(subject, store)
    observations: list[Observation] = []
    if way == "uncompiled" and isinstance(chosen, Plan):
        sides = watch_conditions(conditions, text_of)
        lines = changed if changed and forced is None else {}  # it would take back what makes a check fail
        wheres = watch_wheres(lines, text_of)
        made = tuple(recipes or chosen.uncompiled)
        kept = Kept(subject) if any(one.probe for one in made) else None
        watch = Exercised(places)
        ran: list[frozenset[int]] = []
        left: tuple[Recipe, ...] = ()
        checks_order = changed is not None and forced is None  # a mended program
        again = partial(perform, subject, calls=calls, pristine=pristine, store=store, ear=listener)
        with without_compiling(subject.function):
            for one in made:
                if one.probe and checks_order:  # the calls before it; a probe may make a kernel fail
                    loaded.disordered.extend(raised_behind(made[: len(observations)], observations, again))
                    checks_order = False
                believed = not one.odd
                with watch.watched(one.own or bool(assumed(one))) as seen:
                    try:
                        with sides.believed(believed), wheres.believed(believed):
                            observations.append(
                                perform(subject, one, calls, pristine, store, listener, double=double, kept=kept)
                            )
                    except DeviceLostError as error:
                        observations.append(Observation(one.label, {}, listener.take(), error.raised))
                        left = made[len(observations) :]
                        made = made[: len(observations)]
                ran.append(frozenset(seen))
                if left:
                    break
                if enough is not None and enough(made[: len(observations)], observations):
                    made = made[: len(observations)]
                    break
            if checks_order and not is_lost():
                loaded.disordered.extend(raised_behind(made, observations, again))
        return Trial(
            way, made, tuple(observations), store.blobs, _NOTHING, sides=tuple(sides.data()),
            unlike=tuple(wheres.unlike), start=start, modules=frozenset((*subject.modules, *subject.held)),
            watched=tuple(places), reached=tuple(ran), disordered=tuple(loaded.disordered), left=left,
        )  # fmt: skip
    loaded.backend.way, loaded.backend.double = way, double
    waiting = list(recipes or _recipes_of(way, chosen)) if isinstance(chosen, Plan) else [Recipe(0, own=True)]
    done: list[Recipe] = []
    slow = False
    recorder = Recorder()
    recorder.install()
    kept = Kept(subject) if any(one.probe for one in waiting) else None
    while waiting:
        recorder.call = len(done)
        done.append(waiting.pop(0))
        if done[-1].probe:  # what was compiled before knows nothing of a hook
            torch._dynamo.reset()
        before = time.process_time()  # what others do on the machine shall not decide what is compared
        observations.append(
            perform(
                subject, done[-1], calls, pristine, store, listener,
                double=double, kept=kept, seconds=COMPILED_SECONDS,
                sizes=_of_larger_sizes(done[-1], waiting) if way == "inductor" else (),
            )
        )  # fmt: skip
        took = time.process_time() - before
        if not isinstance(chosen, Plan):
            chosen, enough = chosen()
            waiting = list(_recipes_of(way, chosen))[1:]
        if len(done) == 1 and took > SLOW:
            slow = True
            if recipes is None and way != "inductor":  # which is always slow
                waiting = list(chosen.unshaped() if way == "eager" else chosen.leanest())[1:]
        counting = partial(_counted, done, observations, recorder)
        if enough is not None and enough(done, observations, counting if way == "eager" else None):
            break
    counted = _counted(done, observations, recorder)
    return Trial(
        way, tuple(done), tuple(observations), store.blobs, *counted, start=start,
        modules=frozenset((*subject.modules, *subject.held)), slow=slow, disordered=tuple(loaded.disordered),
        compiled=len(recorder.graphs),
    )  # fmt: skip


def trace(origin: Origin, recipes: Sequence[Recipe], double: Double) -> Trial:
    """Run those calls uncompiled, and take down the path of each.

    Raises:
        FailedError: the entry failed.
    """
    subject, given, listener = _prepare(origin, origin.get(), "uncompiled")
    calls, pristine = _with_copies(subject, given, double)
    store = Store(origin.folder)
    start = state_of(subject, store)
    observations: list[Observation] = []
    paths: list[str] = []
    with without_compiling(subject.function):
        for one in recipes:
            with watched() as path:
                observations.append(perform(subject, one, calls, pristine, store, listener, double=double))
            paths.append(path.digest)
    return Trial(
        "uncompiled", tuple(recipes), tuple(observations), store.blobs, _NOTHING, start=start,
        modules=frozenset((*subject.modules, *subject.held)), paths=tuple(paths),
    )  # fmt: skip


def text_of(file: str) -> str:
    """The text that a file was loaded from, without a byte order mark.

    Raises:
        OSError, SyntaxError, UnicodeError: it cannot be read.
    """
    text = unsaved_text(file)
    if text is None:
        with tokenize.open(file) as opened:
            text = opened.read()
    return text.removeprefix("\ufeff")


_NOTHING = CountsData(graphs=0, breaks=0, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)


def _recipes_of(way: Way, chosen: Plan) -> Sequence[Recipe]:
    if way == "inductor":
        return chosen.of_every_size()
    return chosen.recipes if way == "eager" else chosen.lean()


def _of_larger_sizes(recipe: Recipe, waiting: Sequence[Recipe]) -> tuple[Recipe, ...]:
    """The call, when it is of a larger size, and those to come that are; each may be compiled with one graph."""
    calls = [
        one for one in (recipe, *waiting) if one.resize is not None and one.resize[1] > 1 and one.base == recipe.base
    ]
    return tuple(calls) if recipe in calls else ()


def _prepare(
    origin: Origin, loaded: Loaded, way: Way, double: Double = ""
) -> tuple[Subject, list[Arguments], Listener]:
    params = origin.params
    vars(torch)[OPERATORS] = True
    if origin.built is not None:
        program, listener = origin.built.program, origin.built.listener
        listener.resume()
    else:
        listener = Listener()
        listener.install()
        program = build(loaded.module, params["entry"], params["device"], params["mode"])
    set_threads(PROGRAMS_AT_ONCE)
    if way == "inductor":
        inductor.compile_here(vectors=not double)
    files = _own_modules(_imported(loaded, origin.built.imported if origin.built is not None else Imported()))
    parts = find_parts(program.callable)
    function = uncompiled(program.callable) if way == "uncompiled" else compiled(program.callable, BACKEND)
    subject = Subject(function, parts.modules, files, parts.held)
    return subject, [(call.args, call.kwargs) for call in program.calls], listener


def _with_copies(
    subject: Subject, calls: Sequence[Arguments], double: Double
) -> tuple[Sequence[Arguments], Sequence[Arguments]]:
    """The entry's calls, put into float64 where that is wanted, with the modules, and copies of what they were."""
    pristine = fresh_calls(calls)
    if not double:
        return calls, pristine
    widen_modules(subject.modules)
    return [widened(call) for call in calls], pristine


def _counted(
    done: Sequence[Recipe], observations: Sequence[Observation], recorder: Recorder
) -> tuple[CountsData, tuple[BreakData, ...], tuple[GraphData, ...]]:
    """What the entry's own calls compiled: the counts, the breaks and the graphs; what all did where none is the entry's own."""
    own = {number for number, recipe in enumerate(done) if recipe.own} or {*range(len(done))}
    events = tuple(event for event in recorder.events if event["call"] in own)
    graphs = tuple(
        GraphData(**{**graph, "events": sum(one["call"] in own for one in recorder.events[: graph["events"]])})
        for graph in recorder.graphs
        if graph["call"] in own
    )
    counts = CountsData(
        graphs=max(Counter(graph["call"] for graph in graphs).values(), default=0),
        breaks=len({_site(event) for event in events}),
        skipped_frames=len({(skip["file"], skip["line"]) for skip in recorder.skipped if skip["call"] in own}),
        skipped_rests=len({_site(event) for event in events if event["outcome"] == "rest skipped"}),
        recompiles=_recompiles(observations, recorder.graphs),
        refused=0,
    )
    return counts, events, graphs


def _site(event: BreakData) -> tuple[object, ...]:
    """Where a break is shown: the innermost frame of the user's or a package's own code."""
    frame = next((one for one in reversed(event["frames"]) if one["kind"] == "code"), event["frames"][-1])
    return (frame["file"], frame["line"], frame["column"], frame["end_line"], frame["end_column"])


def _recompiles(observations: Sequence[Observation], graphs: Sequence[GraphData]) -> int:
    """Graphs compiled during calls whose inputs looked like those of an earlier call."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    later: set[int] = set()
    for number, observation in enumerate(observations):
        looks = tuple((path, leaf.text) for path, leaf in observation.parts.get("input", {}).items() if leaf.digest)
        if looks in seen:
            later.add(number)
        seen.add(looks)
    return sum(graph["call"] in later for graph in graphs)


def _imported(loaded: Loaded, known: Imported) -> Imported:
    """The modules that the program has imported by now; of those that are `known` nothing is looked at again."""
    named = list(known.named)
    others = list(known.others)
    files = loaded.names
    news = [name for name in sys.modules if name not in known.names]
    for name in news:  # to touch a module is to copy a page
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
        if not isinstance(module, ModuleType) or not file or not os.path.isabs(file):  # torch.ops call themselves files
            continue
        is_named = os.path.basename(file) in files and canonical(file) in loaded.files
        if not is_named and (name in loaded.known or {"site-packages", "dist-packages"} & set(file.split(os.sep))):
            continue
        if SUPPORT in (module.__doc__ or ""):  # what mends import is no state of the program
            continue
        if is_named:
            named.append(module)
        else:
            others += [module] if kind_of(file) == "code" else []
    return Imported(known.names | frozenset(news), tuple(named), tuple(others))


def _own_modules(imported: Imported) -> tuple[ModuleType, ...]:
    """The modules whose globals are the program's state: those whose files were named, and the user's that are not installed.

    Of a large package in the user's folders only the named files: to look at all of it in every call takes too long.
    """
    return (*imported.named, *(imported.others if len(imported.others) <= MOST_MODULES else ()))
