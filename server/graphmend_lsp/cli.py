"""The command line: what each command does (check and mend: the same engine as the editor). Progress goes to stderr."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from graphmend_lsp import __version__
from graphmend_lsp.cli_arguments import SECONDS, parser
from graphmend_lsp.cli_output import print_mend, print_parts, print_report
from graphmend_lsp.engine.cache import Cache, cache_of
from graphmend_lsp.engine.client import WorkerClient, WorkerFailedError
from graphmend_lsp.engine.config import Analysis, CheckRequest, Device, WorkerConfig
from graphmend_lsp.engine.entries import BadEntryError, ProjectConfig, parse_entry, python_files, read_config
from graphmend_lsp.engine.files import UnreadableSourceError, notebooks
from graphmend_lsp.engine.notebook_files import (
    by_cell,
    by_line,
    in_program,
    placed,
)
from graphmend_lsp.engine.path_map import BadPathMapError, parse_pair
from graphmend_lsp.engine.shard import BadShardError, Shard, parse_shard
from graphmend_lsp.engine.tree import usual_jobs
from graphmend_lsp.engine.unread import unread, with_unread
from graphmend_lsp.model import Failure, Measurement, Mode, Plan, Progress, Report
from graphmend_lsp.report.words import for_terminal

DONE, BREAKS, ERROR = 0, 1, 2
_T = TypeVar("_T")


class _UsageError(Exception):
    """What was asked for cannot be done; the message is for the user."""


def run(words: Sequence[str]) -> int:
    """Carry out the command line `words` and return the exit code."""
    try:
        arguments = parser().parse_args(list(words))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else ERROR
    try:
        return _COMMANDS[arguments.command](arguments)
    except (_UsageError, BadEntryError, BadPathMapError, BadShardError, UnreadableSourceError, OSError) as error:
        print(f"graphmend-lsp: {error}", file=sys.stderr)
        return ERROR
    except KeyboardInterrupt:
        print("graphmend-lsp: stopped", file=sys.stderr)
        return 130


def _check(arguments: argparse.Namespace) -> int:
    if arguments.trace:
        return _check_trace(arguments)
    from graphmend_lsp.engine.session import Session

    request, worker = _request(arguments)

    async def work() -> Report:
        session = Session(worker, cache=_cache(arguments))
        try:
            report = await session.check(request, _progress(arguments))
            return await session.prove(request, report, on_progress=_progress(arguments)) if arguments.prove else report
        finally:
            await session.close()

    report = with_unread(*_run(_beside(work(), request.paths)))
    files = notebooks(request.texts)
    places = {"text": by_cell, "html": in_program}.get(arguments.format, by_line)
    print_report(placed(report, files, places), arguments.format, sys.stdout, unreached=arguments.all, notebooks=files)
    return exit_code(report)


def _check_trace(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.engine.record_command import NoTraceError, report_trace

    pairs = tuple(map(parse_pair, arguments.map))
    try:
        report, notes = report_trace(arguments.trace, pairs, tuple(map(os.path.abspath, arguments.paths)))
    except NoTraceError as error:
        raise _UsageError(str(error)) from error
    print_report(report, arguments.format, sys.stdout)
    for note in () if arguments.quiet else notes:
        print(f"graphmend-lsp: {note}", file=sys.stderr)
    return exit_code(report)


def _record(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.engine.record_command import NOT_TOLD, command_of, run_recorded
    from graphmend_lsp.engine.running import NotStartedError, end_like

    command = command_of(arguments.words)
    if not command:
        raise _UsageError(NOT_TOLD)
    try:
        run = run_recorded(command, here=arguments.here)
    except NotStartedError as error:
        print(f"graphmend-lsp: {error}", file=sys.stderr)
        return error.status
    try:
        if not arguments.quiet:
            print_report(run.report, "text", sys.stderr)
            for note in run.notes:
                print(f"graphmend-lsp: {note}", file=sys.stderr)
        if arguments.out:
            with open(arguments.out, "w", encoding="utf-8") as file:
                print_report(run.report, arguments.format, file)
    except OSError as error:  # the command's end counts, not ours
        print(f"graphmend-lsp: {error}", file=sys.stderr)
    return end_like(run.status)


def _merge(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.engine.merge import UnlikeShardsError, merge_reports, mover, relocated
    from graphmend_lsp.report.mend_parts import mend_parts
    from graphmend_lsp.report.read import BadRecordError, read_report

    try:
        records = [read_report(path) for path in arguments.records]
        root = records[0].root
        records.sort(key=lambda one: one.report.shard.number if one.report.shard else 0)
        mends = [(one.path, one.mend, mover(one.root, root)) for one in records if one.mend is not None]
        if 0 < len(mends) < len(records):
            raise UnlikeShardsError(
                "Some of these records are of a check, others of a mend. Merge those of one command."
            )
        moved = [relocated(record.report, record.root, root) for record in records]
        report = merge_reports(moved, root, "mend" if mends else "check")
        parts = mend_parts(mends) if mends else None
    except (BadRecordError, UnlikeShardsError) as error:
        raise _UsageError(str(error)) from error
    if parts is None:
        print_report(report, arguments.format, sys.stdout, unreached=arguments.all)
    else:
        print_parts(report, parts, arguments.format, unreached=arguments.all)
    return exit_code(report)


def _mend(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.engine.plan import reached
    from graphmend_lsp.engine.session import Session
    from graphmend_lsp.engine.together import StrangerError
    from graphmend_lsp.engine.writing import ChangedError, write_plan

    request, worker = _mend_request(arguments)

    async def work() -> tuple[Plan, tuple[Measurement, ...]]:
        session = Session(worker, cache=_cache(arguments))
        try:
            plan = await session.mend(request, _progress(arguments), seconds=arguments.seconds)
            if not arguments.measure or not plan.texts:
                return plan, ()
            keys = reached(plan)
            return plan, await session.measure(request, plan.texts, keys, arguments.backend, _progress(arguments))
        finally:
            await session.close()

    try:
        (plan, measured), failures = _run(_beside(work(), request.paths))
        plan = replace(plan, after=with_unread(plan.after, failures))
        if arguments.overlay:
            plan = _as_overlay(plan)
        files = notebooks(request.texts)  # as they were mended
        if arguments.write:
            write_plan(plan)
    except (StrangerError, ChangedError) as error:
        raise _UsageError(str(error)) from error
    print_mend(
        plan, arguments.format, measured if arguments.measure else None, written=arguments.write, notebooks=files
    )
    if any(one.error is not None for one in measured):
        return ERROR
    return exit_code(plan.after)


def _mend_request(arguments: argparse.Namespace) -> tuple[CheckRequest, WorkerConfig]:
    """What to mend, of a shard only what no other shard edits."""
    if arguments.rule:  # to look at them imports every rule
        from graphmend_lsp.mending import rules_by_name

        if unknown := sorted(set(arguments.rule) - set(rules_by_name())):
            raise _UsageError(f"There is no rule {unknown[0]!r}. The rules are {', '.join(rules_by_name())}.")
    request, worker = _request(arguments)
    if arguments.backend and not arguments.measure:
        raise _UsageError("--backend needs --measure: it names the backend to measure with.")
    if arguments.overlay:
        from graphmend_lsp.engine.breaks import is_installed
        from graphmend_lsp.engine.overlay import NO_PROGRAM

        if request.shard is not None:
            raise _UsageError("--overlay and --shard exclude each other: programs of different shards share packages.")
        if all(map(is_installed, (*python_files(request.paths), *(entry.file for entry in request.entries)))):
            raise _UsageError(NO_PROGRAM)
    if request.shard is not None:
        from graphmend_lsp.engine.together import in_parts

        request, note = in_parts(request, request.shard, os.getcwd())
        if note and not arguments.quiet:
            print(f"graphmend-lsp: {note}", file=sys.stderr)
    return request, worker


def _as_overlay(plan: Plan) -> Plan:
    from graphmend_lsp.engine.overlay import OverlayError, as_overlay

    try:
        return as_overlay(plan, [result.entry.file for result in plan.before.entries if result.error is None])
    except OverlayError as error:
        raise _UsageError(str(error)) from error


def _completion(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.completion import completion

    print(completion(parser(), arguments.shell), end="")
    return 0


def _rules(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.mending import rules_by_name
    from graphmend_lsp.report.manual import break_page, break_pages, rule_page

    rules = rules_by_name()
    if arguments.name is None:
        for name, rule in rules.items():
            print(f"{name}: {rule.doc.strip().splitlines()[0]}")
        return DONE
    if arguments.name.upper() in break_pages():
        print(break_page(arguments.name.upper()), end="")
        return DONE
    if arguments.name not in rules:
        known = f"The rules are {', '.join(rules)}. The pages are {', '.join(break_pages())}."
        raise _UsageError(f"There is no rule and no page {arguments.name!r}. {known}")
    print(rule_page(rules[arguments.name]), end="")
    return DONE


def _doctor(arguments: argparse.Namespace) -> int:
    from graphmend_lsp.engine.interpreter import worker_command

    async def work() -> int:
        told = tuple(shlex.split(arguments.worker_command or ""))
        command = worker_command(arguments.python, told)
        print(f"graphmend-lsp {__version__} on Python {sys.version.split()[0]}")
        print(f"worker: {' '.join(command) if command else 'no interpreter found'}")
        client = WorkerClient(arguments.python, told, None, {})
        try:
            hello = await client.start()
        except WorkerFailedError as error:
            print(f"error: {for_terminal(error.failure.words)}")
            return ERROR
        else:
            missing = f"; missing hooks: {', '.join(hello['missing'])}" if hello["missing"] else ""
            print(f"Python {hello['python']}, torch {hello['torch']}, {'CUDA' if hello['cuda'] else 'CPU'}{missing}")
            for what, hooks in hello.get("reduced", {}).items():
                print(f"not available with this torch: {what} (it lacks {', '.join(hooks)})")
            cache = cache_of(os.environ)
            print(f"cache: {cache.words if cache else 'none (GRAPHMEND_CACHE_DIR is empty)'}")
            return DONE if not hello["missing"] else ERROR
        finally:
            await client.kill()

    return _run(work())


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": _check,
    "merge": _merge,
    "mend": _mend,
    "record": _record,
    "rules": _rules,
    "doctor": _doctor,
    "completion": _completion,
}


def _cache(arguments: argparse.Namespace) -> Cache | None:
    return None if arguments.no_cache else cache_of(os.environ)


def exit_code(report: Report) -> int:
    """2 when an entry could not be run, else 1 when breaks remain, else 0.

    Breaks that only the static tier sees count when nothing could be run: no entry ran, so nothing said they are not there.
    They do not in a shard without entries: the other shards run them.
    """
    if any(failure.kind != "no-inputs" for failure in report.failures):
        return ERROR
    ran = any(result.error is None for result in report.entries) or (report.shard is not None and not report.entries)
    return BREAKS if any(finding.site.evidence != "static" or not ran for finding in report.findings) else DONE


def _request(arguments: argparse.Namespace) -> tuple[CheckRequest, WorkerConfig]:
    paths = tuple(os.path.abspath(os.path.expanduser(path)) for path in arguments.paths)
    for written, path in zip(arguments.paths, paths, strict=True):
        if not os.path.exists(path):
            raise _UsageError(f"{written}: no such file or folder.")
    here = os.getcwd()
    config: ProjectConfig = read_config(paths[0] if paths else here)
    from graphmend_lsp.engine.support import foreign_support

    foreign = foreign_support(paths[0] if paths else here)
    for complaint in (*config.complaints, *([foreign] if foreign is not None else [])):
        print(f"graphmend-lsp: {complaint}", file=sys.stderr)
    entries = [parse_entry(entry, here) for entry in arguments.entry]
    entries += [parse_entry(entry, config.folder) for entry in config.entries] if not arguments.entry else []
    if not paths and not entries:
        raise _UsageError("There is nothing to run. Name a PATH, or an --entry FILE.py:FUNCTION.")
    if not entries and not any(True for _ in python_files(paths)):
        raise _UsageError("The paths hold no Python file. Name a file or a folder with Python files.")
    mode = arguments.mode or config.mode or "eval"
    modes: dict[str, tuple[Mode, ...]] = {"eval": ("eval",), "train": ("train",), "both": ("eval", "train")}
    devices: dict[str, Device] = {"auto": "auto", "cpu": "cpu", "cuda": "cuda"}
    device = arguments.device or config.device or "auto"
    run: Analysis = getattr(arguments, "run", "real") or ("real" if config.explore is False else "both")
    request = CheckRequest(
        paths=paths,
        texts={path: file.text for path, file in notebooks([*paths, *(entry.file for entry in entries)]).items()},
        entries=tuple(dict.fromkeys(entries)),
        device=devices[device],
        modes=modes[mode],
        rules=tuple(getattr(arguments, "rule", ())),
        unsafe=getattr(arguments, "unsafe", False),
        packages=getattr(arguments, "overlay", False),
        made_up=not arguments.no_guess and config.guess is not False,
        analysis=run,
        shard=_shard(arguments),
        assume=config.assume,
        timed=arguments.command == "check" and arguments.format == "html",
    )
    return request, WorkerConfig(
        python=arguments.python or config.python,
        command=tuple(shlex.split(arguments.worker_command or "")),
        seconds=arguments.timeout or config.timeout or SECONDS,
        memory_mb=arguments.memory or config.memory,
        cwd=here,
        path_map=tuple(map(parse_pair, arguments.map)),
        jobs=_jobs(arguments),
    )


def _shard(arguments: argparse.Namespace) -> Shard | None:
    if getattr(arguments, "shard", None) is None:
        return None
    return parse_shard(arguments.shard, arguments.times)


def _jobs(arguments: argparse.Namespace) -> int:
    """As asked; else as many as fit this machine, 1 where the worker is elsewhere."""
    told: int | None = getattr(arguments, "jobs", 1)
    if told is not None:
        if told < 1:
            raise _UsageError("--jobs must be 1 or more.")
        return told
    return 1 if arguments.worker_command else usual_jobs()


async def _beside(work: Coroutine[Any, Any, _T], paths: Sequence[str]) -> tuple[_T, tuple[Failure, ...]]:
    """What the work gives, and which files below `paths` cannot be read, found while it goes on."""
    reading = asyncio.create_task(asyncio.to_thread(unread, paths))
    return await work, await reading


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(work)


def _progress(arguments: argparse.Namespace) -> Callable[[Progress], None] | None:
    if arguments.quiet:
        return None
    return lambda step: print(f"graphmend-lsp: {step.message}", file=sys.stderr, flush=True)
