"""The engine and its verdict in this very process: no worker, no forks, thousands of programs in the time of a few.

What a worker's child does once and dies, is done here and undone: hooks into torch and Python, imported modules, streams.
The code that runs, proposes and judges is the engine's and the worker's own, every line of it.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import torch
import torch._dynamo
from torch._dynamo import convert_frame, exc, guards, output_graph, symbolic_convert
from torch._dynamo.backends import registry

import graphmend_lsp
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.declared import declared
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import findings_of
from graphmend_lsp.engine.mender import Mender, no_rule_for
from graphmend_lsp.engine.programs import candidate_of, combine
from graphmend_lsp.engine.runs import Run, mended_run, run_of
from graphmend_lsp.engine.verdicts import judge, worst
from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import Style
from graphmend_lsp.model import Break, Entry, Finding, Mend, Mode, Verdict
from graphmend_lsp.values import NOTHING, Facts
from graphmend_lsp.worker import judged as judging
from graphmend_lsp.worker import verify as verifying
from graphmend_lsp.worker import warming
from graphmend_lsp.worker.analyse import analyse
from graphmend_lsp.worker.failures import FailedError, failure_of
from graphmend_lsp.worker.isolate import Outcome
from graphmend_lsp.worker.trials import BACKEND, Origin, plan
from graphmend_lsp.worker.trials import run as trial
from graphmend_lsp.worker.wire import AnalyseParams, CountsData, EntrySpec, Limits, VerifyParams

sys.path.append(str(Path(graphmend_lsp.__file__).parent / "support"))  # what mended programs import

LIMITS = Limits(seconds=120.0, memory_mb=None)
_CUT = CountsData(graphs=2, breaks=1, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)
_WHOLE = CountsData(graphs=1, breaks=0, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)
_HOOKED: tuple[tuple[Any, str], ...] = (
    (torch, "compile"), (torch._dynamo, "optimize"), (logging.Logger, "handle"), (warnings, "showwarning"),
    (symbolic_convert.InstructionTranslatorBase, "log_graph_break"), (convert_frame, "_compile"),
    (output_graph.OutputGraph, "call_user_compiler"), (guards, "profile_guard_manager"), (sys, "stdout"), (sys, "stderr"),
    (sys, "argv"), (sys, "path"), (sys, "meta_path"), (exc.Unsupported, "__init__"), (exc.UserError, "__init__"),
    (exc.StepUnsupported, "__init__"),
)  # fmt: skip


class InProcess(Mender):
    """Proposes mends without a process of its own."""

    def propose(
        self,
        site: Break,
        sources: Any,
        rules: Sequence[str] = (),
        facts: Facts = NOTHING,
        styles: Mapping[str, Style] = MappingProxyType({}),
        wrapping: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[tuple[Mend, ...], tuple[Any, ...]]:
        """As `Mender.propose`."""
        found = propose(site, sources, rules, facts, styles, wrapping)
        return found.mends, found.declined or (() if found.mends else (no_rule_for(site),))


@dataclass(frozen=True)
class Judged:
    """One text of a program: what breaks it, what is offered, and a verdict on each offer and on the first ones together."""

    findings: tuple[Finding, ...]
    run: Run
    alone: tuple[tuple[Mend, Verdict], ...]
    together: tuple[tuple[Mend, ...], Verdict, str, Run] | None = None


def prepare() -> None:
    """Warm torch up; once, in the process that runs programs or from which such processes are forked."""
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    torch._logging.set_logs(all=logging.ERROR)
    for module in (torch.cuda.random, torch.xpu.random, torch.mtia):  # each seed would note who asked for it, slowly
        vars(module)["_lazy_call"] = _nothing
    warming.warm()
    gc.collect()
    gc.freeze()


def _nothing(*_args: object, **_options: object) -> None:
    pass


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """What a child of the worker changes in its process is as before when the context ends."""
    known = set(sys.modules)
    kept = [
        (place, name, list(value) if isinstance(value := getattr(place, name), list) else value)
        for place, name in _HOOKED
    ]
    streams = [(os.dup(number), number) for number in (1, 2)]
    shown = list(warnings.filters)
    try:
        yield
    finally:
        for place, name, value in kept:
            setattr(place, name, value)
        for copy, number in streams:
            os.dup2(copy, number)
            os.close(copy)
        warnings.filters[:] = shown
        for name in set(sys.modules) - known:
            if _is_programs(sys.modules[name]):
                del sys.modules[name]
        for names in (registry._BACKENDS, registry._COMPILER_FNS):
            names.pop(BACKEND, None)
        for name in ("_graphmend_side", "_graphmend_where"):
            if hasattr(builtins, name):
                delattr(builtins, name)
        torch._dynamo.reset()


def _is_programs(module: Any) -> bool:
    return "site-packages" not in (getattr(module, "__file__", None) or "site-packages")


def _here(functions: Sequence[Callable[[], Any]], *_: object) -> list[Outcome[Any]]:
    outcomes: list[Outcome[Any]] = []
    for function in functions:
        with undone():
            try:
                outcomes.append(Outcome(function(), None))
            except FailedError as error:
                outcomes.append(Outcome(None, error.failure))
            except Exception as error:
                outcomes.append(Outcome(None, failure_of(error, "call")))
    return outcomes


@contextlib.contextmanager
def _without_children() -> Iterator[None]:
    names = {"call_in_children": _here, "can_fork": lambda: False}
    kept = {name: getattr(verifying, name) for name in names}
    for name, value in names.items():
        setattr(verifying, name, value)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(verifying, name, value)


def run(entry: Entry, text: str, mode: Mode) -> Run:
    """The entry of that text under Dynamo."""
    params = AnalyseParams(
        entry=_spec(entry), texts={entry.file: text}, roots=[], device="cpu", mode=mode, limits=LIMITS, run="real"
    )
    with undone():
        return run_of(analyse(params))


def verdicts(
    entry: Entry, text: str, mode: Mode, programs: Sequence[tuple[Mend, ...]], before: Run
) -> list[tuple[Verdict, Run]]:
    """The verdict on each set of mends made together."""
    sources = Sources({entry.file: text})
    base = {entry.file: text}
    candidates = [
        candidate_of(str(number), mends, dict(combine(mends, sources)[1]), base, sources)
        for number, mends in enumerate(programs)
    ]
    params = VerifyParams(
        entry=_spec(entry), texts=base, candidates=candidates, roots=[], device="cpu", mode=mode, limits=LIMITS, before=before.counts
    )  # fmt: skip
    with _without_children(), undone():
        result = verifying.verify(cast(Any, params), lambda _message: None)
    if result["failure"] is not None:
        raise RuntimeError(result["failure"])
    written = [declared(base, candidate["texts"]) for candidate in candidates]
    return [
        (worst([judge(one, mends, sources, (), those)]), mended_run(one, before))
        for one, mends, those in zip(result["candidates"], programs, written, strict=False)
    ]


def offered(
    entry: Entry, text: str, mode: Mode, ran: Run
) -> tuple[tuple[Finding, ...], list[Mend], tuple[Mend, ...], dict[str, str]]:
    """What breaks this text, all mends of that, and the first ones that fit together with the texts that they make."""
    request = CheckRequest((entry.file,), {entry.file: text}, device="cpu", modes=(mode,))
    findings = findings_of({(entry, mode): ran}, (entry.file,), request, Sources(request.texts), InProcess())
    mends = list(dict.fromkeys(one.mend for each in findings if each.site.is_met for one in each.candidates))
    firsts, texts = combine(
        [one.candidates[0].mend for one in findings if one.candidates and one.site.is_met], Sources(request.texts)
    )
    return findings, mends, firsts, texts


def judged(entry: Entry, text: str, mode: Mode = "eval", before: Run | None = None) -> Judged:
    """What the engine would tell of this text, with every candidate judged."""
    ran = before or run(entry, text, mode)
    findings, mends, firsts, texts = offered(entry, text, mode, ran)
    if not mends or ran.failure is not None:
        return Judged(findings, ran, ())
    programs = [(mend,) for mend in mends] + ([firsts] if len(firsts) > 1 else [])
    found = verdicts(entry, text, mode, programs, ran)
    alone = tuple((mend, one[0]) for mend, one in zip(mends, found, strict=False))
    together = None
    if len(found) == len(programs):
        last = found[-1] if len(firsts) > 1 else found[mends.index(firsts[0])]
        together = (firsts, last[0], texts[entry.file], last[1])
    return Judged(findings, ran, alone, together)


def uncompiled_verdicts(
    entry: Entry, text: str, mode: Mode, programs: Sequence[tuple[Mend, ...]]
) -> list[Verdict] | None:
    """The part of the verdict that runs nothing compiled, as if each mend gained a graph; None when the program fails.

    What is not safe here is not safe in a whole verdict; what is safe here may still fail there.
    """
    sources = Sources({entry.file: text})
    base = {entry.file: text}
    candidates = [
        candidate_of(str(number), mends, dict(combine(mends, sources)[1]), base, sources)
        for number, mends in enumerate(programs)
    ]
    params = VerifyParams(
        entry=_spec(entry), texts=base, candidates=candidates, roots=[], device="cpu", mode=mode, limits=LIMITS, before=_CUT
    )  # fmt: skip
    conditions = judging.conditions_of(candidates)
    places = judging.assumed_places(candidates)
    origin = Origin(params, base, (entry.file,))
    (planned,) = _here([lambda: plan(origin, conditions, places)])
    if planned.value is None or planned.value.plan.failed is not None:
        return None
    chosen = planned.value.plan
    (first,) = _here(
        [lambda: trial(origin, "uncompiled", chosen, conditions, None, chosen.everything(), places=places)]
    )
    if first.value is None:
        return None
    original = judging.Ran((first.value,), planned.value)
    found: list[Verdict] = []
    for candidate, mends in zip(candidates, programs, strict=True):
        mended = Origin(params, {**base, **candidate["texts"]}, (entry.file,))
        changed = candidate["changed"]
        (one,) = _here([partial(trial, mended, "uncompiled", chosen, (), changed)])
        ran = judging.Ran((one.value,) if one.value is not None else (), failed=one.failure)
        result = judging.judged(candidate, original, ran, conditions, _CUT, {}, 0.0)
        result["after"] = _WHOLE
        found.append(worst([judge(result, mends, sources, (), declared(base, candidate["texts"]))]))
    return found


def _spec(entry: Entry) -> EntrySpec:
    return EntrySpec(file=entry.file, function=entry.function, kind=entry.kind)
