"""What the command line prints: reports and mends, in each of their formats."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from graphmend_lsp.engine.notebook_files import NotebookFile, map_by_cell, plan_by_cell
from graphmend_lsp.model import Measurement, Plan, Report


def print_report(
    report: Report,
    form: str,
    file: TextIO,
    *,
    unreached: bool = False,
    notebooks: Mapping[str, NotebookFile] | None = None,
) -> None:
    """Print a report. `unreached`: also the breaks of the source that no run reached."""
    if form == "text":
        from graphmend_lsp.report import text

        text.print_report(_console(file), report, unreached=unreached)
    elif form == "github":
        from graphmend_lsp.report.formats import github

        print(github(report, unreached=unreached), file=file)
    elif form == "html":
        from graphmend_lsp.report.graph_map import graph_map
        from graphmend_lsp.report.page import page

        print(page(map_by_cell(graph_map(report), notebooks or {})), file=file)
    elif form == "sarif":
        from graphmend_lsp.report.formats import sarif

        _print_json(sarif(report), file)
    else:
        from graphmend_lsp.report.record import check_record

        _print_json(check_record(report), file)


def print_mend(
    plan: Plan,
    form: str,
    measured: Sequence[Measurement] | None,
    *,
    written: bool,
    notebooks: Mapping[str, NotebookFile],
) -> None:
    """Print a plan, and what was measured (None: nothing was to be); `written`: its files are written."""
    if form == "json":
        from graphmend_lsp.report.record import mend_record

        _print_json(mend_record(plan, measured or ()))
    elif form == "html":
        from graphmend_lsp.report.graph_map import plan_map
        from graphmend_lsp.report.page import page

        print(page(map_by_cell(plan_map(plan, written=written), notebooks), "Graph map of a mend"))
    else:
        from graphmend_lsp.report.text import print_plan, print_speed

        print_plan(_console(), plan_by_cell(plan, notebooks), diffs=not written, written=written)
        if measured is not None:
            print_speed(_console(), measured)


def print_parts(report: Report, parts: Mapping[str, Any], form: str, *, unreached: bool = False) -> None:
    """Print what the shards of a mend found together (`mend_parts`)."""
    if form == "json":
        from graphmend_lsp.report.record import check_record

        _print_json({**check_record(report), **parts})
    elif form == "text":
        from graphmend_lsp.report import text

        text.print_parts(_console(), report, parts)
    else:
        print_report(report, form, sys.stdout, unreached=unreached)


def _console(file: TextIO | None = None) -> Any:
    from rich.console import Console

    return Console(file=file, highlight=False, emoji=False, markup=False)


def _print_json(record: Any, file: TextIO | None = None) -> None:
    json.dump(record, file or sys.stdout, indent=2)
    print(file=file)
