"""Files to be checked that cannot be read as Python: failures, as silence would say that they break nothing."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace

from graphmend_lsp.engine.entries import python_files
from graphmend_lsp.engine.files import UnreadableSourceError, read_source
from graphmend_lsp.model import Failure, Report

REMEDY = "Correct it, leave it out of the paths, or run graphmend-lsp with a Python that reads it."


def unread(paths: Sequence[str]) -> tuple[Failure, ...]:
    """A failure for each file below `paths` that cannot be parsed."""
    return tuple(failure for path in python_files(paths) if (failure := _failure(path)) is not None)


def with_unread(report: Report, failures: Sequence[Failure]) -> Report:
    """The report with these failures, but for files of which a run has told one already."""
    told = {failure.path for failure in report.failures if failure.kind == "syntax"}
    more = tuple(failure for failure in failures if failure.path not in told)
    return replace(report, failures=(*report.failures, *more)) if more else report


def _failure(path: str) -> Failure | None:
    version = "Python {}.{}".format(*sys.version_info[:2])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(read_source(path).text, path)
    except UnreadableSourceError as error:
        return Failure("load", "syntax", str(error).removeprefix(f"{path}: "), REMEDY, path)
    except SyntaxError as error:
        return Failure("load", "syntax", f"SyntaxError in {version}: {error.msg}", REMEDY, path, error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return Failure("load", "syntax", f"{version} cannot parse it: {error}", REMEDY, path)
    return None
