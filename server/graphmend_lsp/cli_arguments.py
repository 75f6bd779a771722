"""What the command line takes: its commands, their options, and the words of --help."""

from __future__ import annotations

import argparse
from typing import Any

from graphmend_lsp import __version__
from graphmend_lsp.completion import SHELLS

SECONDS = 120.0
_EPILOG = """exit status: 0 no graph breaks, or all mended; 1 graph breaks remain; 2 error.

An entry is a Python function that returns (callable, args); args is a tuple, a dict of keywords, or a list of such calls.
Entries come from --entry, from [tool.graphmend] in pyproject.toml, and from functions named graphmend_entry in PATH."""


def parser() -> argparse.ArgumentParser:
    """The parser; what it makes has the name of the command as `command`."""
    parser = argparse.ArgumentParser(
        prog="graphmend-lsp",
        description="Find, mend and verify the graph breaks of torch.compile. With --stdio alone: run the language server.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"graphmend-lsp {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    looks: dict[str, Any] = {"epilog": _EPILOG, "formatter_class": argparse.RawDescriptionHelpFormatter}
    check = commands.add_parser("check", help="show every graph break", **looks)
    _common(check)
    check.add_argument("--format", choices=("text", "json", "sarif", "github", "html"), default="text")
    check.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    check.add_argument(
        "--verify", "--prove", dest="prove", action="store_true", help="also verify every possible mend; change no file"
    )
    check.add_argument(
        "--run",
        choices=("real", "fake", "both"),
        help="run with the entries' data, without data, or both (default)",
    )
    check.add_argument("--trace", metavar="DIR", help="run nothing; read a TORCH_TRACE folder (with --map)")
    _sharded(check, "run part I of N of the entries; merge joins the records")
    _all(check)
    check.set_defaults(command="check")
    merge = commands.add_parser(
        "merge", help="join the records of the shards of a check or a mend into one report", **looks
    )
    merge.add_argument(
        "records", nargs="+", metavar="RECORD", help="a file that check or mend --shard I/N --json wrote"
    )
    merge.add_argument("--format", choices=("text", "json", "sarif", "github", "html"), default="text")
    merge.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    _all(merge)
    merge.set_defaults(command="merge")
    mend = commands.add_parser("mend", help="rewrite the source by verified mends", **looks)
    _common(mend)
    mend.add_argument("--format", choices=("text", "json", "html"), default="text")
    mend.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    what = mend.add_mutually_exclusive_group()
    what.add_argument("--diff", action="store_true", help="print the diff and change no file (default)")
    what.add_argument("--write", action="store_true", help="change the files")
    mend.add_argument(
        "--overlay",
        action="store_true",
        help="also mend installed packages: as copies in your project; the packages themselves stay as they are",
    )
    mend.add_argument(
        "--measure",
        action="store_true",
        help="time the original and the mended program side by side",
    )
    mend.add_argument(
        "--backend",
        metavar="NAME",
        help="the torch.compile backend to measure with (default: the program's own, else inductor)",
    )
    mend.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="stop verifying after N seconds, and use what is verified by then; with --jobs for all processes together, with "
        "--shard for each shard (default: stop when no mend is verified in four times the first run, and at least two "
        "minutes)",
    )
    _sharded(
        mend, "mend part I of N of the entries; those whose programs share files stay together; merge joins the records"
    )
    mend.add_argument("--unsafe", action="store_true", help="also apply unsafe mends, and list what each may change")
    mend.add_argument("--rule", action="append", default=[], metavar="NAME", help="use only this rule (repeatable)")
    mend.set_defaults(command="mend")
    record = commands.add_parser(
        "record",
        help="run a command of yours and record its graph breaks",
        usage="graphmend-lsp record [--out FILE] [--format FORMAT] [--here] -- COMMAND ...",
        description="Runs the command unchanged, with its own output and exit status. Prints a summary to stderr.",
    )
    record.add_argument("--out", metavar="FILE", help="also write the report to this file")
    record.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github", "html"),
        default="json",
        help="format of that file (default json)",
    )
    record.add_argument("--here", action="store_true", help="keep the recording in .graphmend/ in this folder")
    record.add_argument("--quiet", action="store_true", help="print no summary")
    record.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    record.set_defaults(command="record")
    rules = commands.add_parser("rules", help="explain a mending rule or a kind of graph break")
    rules.add_argument("name", nargs="?", metavar="NAME", help="a rule, or PyTorch's id of a graph break (GB0170)")
    rules.set_defaults(command="rules")
    doctor = commands.add_parser(
        "doctor", help="show which Python and torch GraphMend uses, and whether the worker starts"
    )
    doctor.add_argument("--python", metavar="PY")
    doctor.add_argument(
        "--worker-command", metavar="WORDS", help="the command that starts the worker, such as 'ssh box python3'"
    )
    doctor.set_defaults(command="doctor")
    completion = commands.add_parser("completion", help="print what a shell sources to complete this command line")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(command="completion")
    return parser


def _all(parser: argparse.ArgumentParser) -> None:
    words = "also list breaks that only the source shows and no run reached (text and github)"
    parser.add_argument("--all", action="store_true", help=words)


def _sharded(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--shard", metavar="I/N", help=words)
    parser.add_argument("--times", metavar="RECORD", help="balance shards by the times of an earlier record")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to check and to mend")
    parser.add_argument(
        "--entry", action="append", default=[], metavar="FILE.py:FN", help="run this entry (repeatable)"
    )
    parser.add_argument("--no-guess", action="store_true", help="run only entries; make up no inputs")
    parser.add_argument("--python", metavar="PY", help="the Python interpreter that has torch and your packages")
    parser.add_argument(
        "--worker-command", metavar="WORDS", help="the command that starts the worker, such as 'ssh box python3'"
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="HERE=THERE",
        help="folder HERE is folder THERE for the worker (repeatable)",
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="where the entries run (default auto)")
    parser.add_argument(
        "--mode", choices=("eval", "train", "both"), help="train also runs the backward pass (default eval)"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="worker processes (default: half the cores, if memory allows)"
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help=f"time limit of one run (default {SECONDS:g})")
    parser.add_argument("--memory", type=int, metavar="MIB", help="memory limit of one run (default: none)")
    parser.add_argument("--no-cache", action="store_true", help="run everything; neither use nor keep earlier results")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
