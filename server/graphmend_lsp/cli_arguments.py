"""What the command line takes: its commands, their options, and the words of --help."""

from __future__ import annotations

import argparse
from typing import Any

from graphmend_lsp import __version__

_EPILOG = """exit status: 0 no breaks, or all mended; 1 breaks remain; 2 error.

An entry is a Python function that returns (callable, args): args is a tuple, a dict of keywords, or a list of such calls.
Entries come from --entry, from [tool.graphmend] entries in pyproject.toml, and from functions named graphmend_entry in PATH."""


def parser() -> argparse.ArgumentParser:
    """The parser; what it makes has the name of the command as `command`."""
    parser = argparse.ArgumentParser(
        prog="graphmend-lsp",
        description="See, mend and prove the graph breaks of torch.compile. With --stdio alone: the language server.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"graphmend-lsp {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    looks: dict[str, Any] = {"epilog": _EPILOG, "formatter_class": argparse.RawDescriptionHelpFormatter}
    check = commands.add_parser("check", help="show every graph break", **looks)
    _common(check)
    check.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    check.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    check.add_argument(
        "--prove", action="store_true", help="also run every mend that could be made and say how safe it is"
    )
    check.add_argument(
        "--run",
        choices=("real", "fake", "both"),
        default="both",
        help="with the entries' data, without, or both (default)",
    )
    check.add_argument("--trace", metavar="DIR", help="run nothing; report what a TORCH_TRACE folder says (with --map)")
    check.add_argument("--jobs", type=int, metavar="N", help="worker processes (default: half the cores, if they fit)")
    check.add_argument("--shard", metavar="I/N", help="run part I of N of the entries; see merge")
    check.add_argument("--times", metavar="RECORD", help="balance shards by the times in an earlier record of a check")
    check.set_defaults(command="check")
    merge = commands.add_parser("merge", help="make one report of the records of a check's shards", **looks)
    merge.add_argument("records", nargs="+", metavar="RECORD", help="what check --shard I/N --json wrote")
    merge.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    merge.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    merge.set_defaults(command="merge")
    mend = commands.add_parser("mend", help="rewrite the source, as far as that is proven", **looks)
    _common(mend)
    mend.add_argument("--format", choices=("text", "json"), default="text")
    mend.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    what = mend.add_mutually_exclusive_group()
    what.add_argument("--diff", action="store_true", help="print the change (the default) and write nothing")
    what.add_argument("--write", action="store_true", help="change the files")
    mend.add_argument(
        "--overlay",
        action="store_true",
        help="mend installed packages too: as copies in your project, loaded in their place; the packages stay as they are",
    )
    mend.add_argument(
        "--measure",
        action="store_true",
        help="time the original and the mended program side by side, and say the ratio",
    )
    mend.add_argument(
        "--backend",
        metavar="NAME",
        help="of torch.compile, to measure with (default: the program's own, else inductor)",
    )
    mend.add_argument("--unsafe", action="store_true", help="also apply mends that change something, told with each")
    mend.add_argument(
        "--rule", action="append", default=[], metavar="NAME", help="use this rule only (may be repeated)"
    )
    mend.set_defaults(command="mend")
    record = commands.add_parser(
        "record",
        help="run a command of your own and record the graph breaks that it meets",
        usage="graphmend-lsp record [--out FILE] [--format FORMAT] [--here] -- COMMAND ...",
        description="The command runs as it would without us and ends as it does; a summary goes to stderr.",
    )
    record.add_argument("--out", metavar="FILE", help="also write the report to this file")
    record.add_argument(
        "--format", choices=("text", "json", "sarif", "github"), default="json", help="of that file (default json)"
    )
    record.add_argument("--here", action="store_true", help="keep the recording in .graphmend/ of this folder")
    record.add_argument("--quiet", action="store_true", help="no summary on stderr")
    record.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    record.set_defaults(command="record")
    rules = commands.add_parser("rules", help="what each mending rule does, and what each kind of break is about")
    rules.add_argument("name", nargs="?", metavar="NAME", help="a rule, or PyTorch's id of a kind of break (GB0170)")
    rules.set_defaults(command="rules")
    doctor = commands.add_parser("doctor", help="say which Python and torch are used and whether the worker starts")
    doctor.add_argument("--python", metavar="PY")
    doctor.add_argument("--worker-command", metavar="WORDS", help="start the worker with this, e.g. 'ssh box python3'")
    doctor.set_defaults(command="doctor")
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to report on, and to change")
    parser.add_argument("--entry", action="append", default=[], metavar="FILE.py:FN", help="run this (may be repeated)")
    parser.add_argument("--no-guess", action="store_true", help="run nothing whose inputs would have to be made up")
    parser.add_argument("--python", metavar="PY", help="the interpreter that has torch and your program's packages")
    parser.add_argument("--worker-command", metavar="WORDS", help="start the worker with this, e.g. 'ssh box python3'")
    parser.add_argument(
        "--map", action="append", default=[], metavar="HERE=THERE", help="the worker sees folder HERE as THERE"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--mode", choices=("eval", "train", "both"))
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for one run (default 120)")
    parser.add_argument("--memory", type=int, metavar="MIB", help="for one run (default: no limit)")
    parser.add_argument("--no-cache", action="store_true", help="run everything, use and keep no earlier result")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
