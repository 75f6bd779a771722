"""Reports for other tools: SARIF 2.1.0 (code scanning) and GitHub's annotation lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from graphmend_lsp import __version__
from graphmend_lsp.model import Break, Finding, Report, Span
from graphmend_lsp.report.words import for_terminal, inside, listed


def page_of(gb_id: str) -> str:
    """PyTorch's own page for a registry id."""
    return f"https://meta-pytorch.github.io/compile-graph-break-site/gb/{gb_id.lower()}.html"


def sarif(report: Report) -> dict[str, Any]:
    """The report as one SARIF run; columns count code points, as SARIF's ``unicodeCodePoints``."""
    codes = sorted({finding.site.code for finding in report.findings})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "columnKind": "unicodeCodePoints",
                "tool": {
                    "driver": {
                        "name": "graphmend-lsp",
                        "version": __version__,
                        "rules": [
                            {"id": code, **({"helpUri": page_of(code)} if code.startswith("GB") else {})}
                            for code in codes
                        ],
                    }
                },
                "results": [_sarif_result(finding) for finding in report.findings],
            }
        ],
    }


def _sarif_result(finding: Finding) -> dict[str, Any]:
    site = finding.site
    code = [frame for frame in site.chain if frame.kind == "code"]
    related = [_location(code[-1].path, code[-1].span)] if inside(site) else []
    return {
        "ruleId": site.code,
        "level": "warning" if site.evidence != "static" else "note",
        "message": {"text": _words(site)},
        "locations": [_location(site.path, site.span)],
        **(
            {"relatedLocations": [{**one, "message": {"text": "the graph breaks here"}} for one in related]}
            if related
            else {}
        ),
    }


def _location(path: str, span: Span) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": Path(os.path.abspath(path)).as_uri()},
            "region": {
                "startLine": span.start.line,
                "startColumn": span.start.column,
                "endLine": span.end.line,
                "endColumn": span.end.column,
            },
        }
    }


def _words(site: Break) -> str:
    there = inside(site)
    return f"Graph break {there}. {site.reason}" if there else site.reason


def github(report: Report, *, unreached: bool = False) -> str:
    """Workflow commands, one a break: GitHub shows them in the changed files of a pull request.

    `unreached`: also the breaks of the source that no run reached.
    """
    lines = []
    for finding in report.findings if unreached else listed(report):
        site = finding.site
        level = "warning" if site.evidence != "static" else "notice"
        place = (
            f"file={_property(os.path.relpath(site.path))},line={site.span.start.line},endLine={site.span.end.line},"
            f"col={site.span.start.column},endColumn={site.span.end.column},title={_property(f'graph break {site.code}')}"
        )
        lines.append(f"::{level} {place}::{_data(_words(site))}")
    lines += [
        f"::{'notice' if failure.kind == 'no-inputs' else 'error'} ::{_data(for_terminal(failure.words))}"
        for failure in report.failures
    ]
    return "\n".join(lines)


def _data(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")
