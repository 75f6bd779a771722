"""Which entries must be mended in one part of a mend-all, and which files that part alone may edit.

A verdict stands on the files that the program loads, and holds for the programs that were run. So two programs that may load
the same file belong to one part: what that part edits, no other part edits, loads or judges by. Cut from the source alone, so
that every machine agrees; `strangers` says afterwards what a run loaded that the cut did not know of.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from graphmend_lsp.engine.breaks import Scope, is_installed
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.entries import keys_of, python_files
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.imports import reachable_files
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.shard import Shard, key_name
from graphmend_lsp.engine.support_text import version_of
from graphmend_lsp.mending.rule import SUPPORT

# What may load files that no import statement names. A word in a comment counts as well: then more is mended together.
_ANY = re.compile(
    r"\b(?:import_module|__import__|runpy|exec_module|load_module|spec_from_file_location|SourceFileLoader)\b"
    r"|\bsys\.(?:path|modules|meta_path)\b|\bsite\.addsitedir\b|(?<![\w.])exec\("
)


class StrangerError(Exception):
    """A program of one part loads a file that another part may edit; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The programs that may load a common file, by a word for each such group; the files of each group.

    `loose` are files because of which a program may load any other, so that all of them are one group.
    """

    groups: Mapping[str, str]
    files: Mapping[str, frozenset[str]]
    loose: tuple[str, ...] = ()


def cut_of(keys: Sequence[Key], texts: Mapping[str, str], folder: str) -> Cut:
    """The groups of these runs. Reads files; `texts` take their place. Paths count from `folder`, as in `key_name`."""
    folders = (folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    known = dict(texts)
    loads: dict[str, frozenset[str]] = {}
    loose: list[str] = []
    for file in dict.fromkeys(entry.file for entry, _ in keys):
        found = reachable_files(file, folders, known)
        known.update(found.texts)
        ours = {path for path, text in found.texts.items() if not _is_support(path, text)} | {os.path.abspath(file)}
        loads[file] = frozenset(ours)
        loose += [path for path in sorted(ours) if _ANY.search(known.get(path, ""))]
        loose += [file] if found.full or is_installed(file) else []
    parts = _joined(loads, {path for path, text in known.items() if not _holds_code(text)}, all_of_them=bool(loose))
    words = {file: min(_place(one, folder) for one in part) for part in parts for file in part}
    files: dict[str, frozenset[str]] = {}
    for file, word in words.items():
        files[word] = files.get(word, frozenset()) | loads[file]
    groups = {key_name(entry, mode, folder): words[entry.file] for entry, mode in keys}
    return Cut(groups, files, tuple(dict.fromkeys(loose)))


def in_parts(request: CheckRequest, shard: Shard, folder: str) -> tuple[CheckRequest, str]:
    """The request to mend one part of what it runs, and what the user should know of the cut (often nothing). Reads files."""
    keys = keys_of(request)
    cut = cut_of(keys, request.texts, folder)
    note = ""
    if len(cut.files) < min(shard.count, len({entry.file for entry, _ in keys})):
        idle = shard.count - len(cut.files)
        note = f"Programs share files, so {idle} of {shard.count} shards mend{'s' * (idle == 1)} nothing."
        if cut.loose:
            note += f" {cut.loose[0]} may load any other file."
    return part_of(request, shard, keys, cut, folder), note


def part_of(request: CheckRequest, shard: Shard, keys: Sequence[Key], cut: Cut, folder: str) -> CheckRequest:
    """The request to mend one part of `keys`, all that it runs: it edits the files of its own groups alone.

    What only the source shows is told of these files; the first part tells it also of those that no group has.
    """
    shard = replace(shard, together=cut.groups)
    mine = {cut.groups[key_name(entry, mode, folder)] for entry, mode in shard.share(keys, folder)}
    scope = Scope(request.paths)
    own = sorted(path for word in mine for path in cut.files[word] if scope.contains(path))
    others = frozenset().union(*cut.files.values()) if shard.number == 1 else None
    wanted = set(own)
    searched = [
        path for path in python_files(request.paths) if path in wanted or not (others is None or path in others)
    ]
    return replace(
        request,
        shard=shard,
        shown=tuple(dict.fromkeys(own)) or (os.devnull,),
        searched=tuple(dict.fromkeys(searched)),
    )


def strangers(request: CheckRequest, runs: Mapping[Key, Run]) -> None:
    """Refuse the runs of a part of a mend-all where one loaded a file that this part may not edit and another one may.

    Raises:
        StrangerError: there is one.
    """
    if request.shard is None or request.shard.together is None:
        return
    scope, own = Scope(request.paths), {os.path.realpath(path) for path in request.shown or ()}
    sources = Sources(request.texts)
    for (entry, _), run in runs.items():
        for path in sorted(run.loaded):
            if os.path.realpath(path) in own or not scope.contains(path):
                continue
            text = sources.get(path)
            if text is not None and _holds_code(text) and not _is_support(path, text):
                raise StrangerError(
                    f"{entry.name} loads {path}, which none of its imports names, so another shard may mend that file. "
                    "No file was written. Run mend without --shard."
                )


def stands_on(request: CheckRequest, runs: Mapping[Key, Run]) -> dict[str, str]:
    """The user's files that these runs loaded, with the SHA-256 of each; those whose text the request gives are left out."""
    return {
        path: sha
        for run in runs.values()
        for path, sha in run.contents.items()
        if path not in request.texts and not is_installed(path)
    }


def _joined(loads: Mapping[str, frozenset[str]], harmless: Iterable[str], *, all_of_them: bool) -> list[frozenset[str]]:
    """The entries' files, those that share a loaded file (or a chain of such) together."""
    if all_of_them:
        return [frozenset(loads)]
    passed = frozenset(harmless)
    parts: list[tuple[set[str], set[str]]] = []
    for file, found in loads.items():
        members, paths = {file}, {os.path.realpath(path) for path in found - passed} | {os.path.realpath(file)}
        apart = []
        for other in parts:
            if paths.isdisjoint(other[1]):
                apart.append(other)
            else:
                members |= other[0]
                paths |= other[1]
        parts = [*apart, (members, paths)]
    return [frozenset(members) for members, _ in parts]


def _is_support(path: str, text: str) -> bool:
    """Whether it is the support module, which every mended file imports and no rule mends."""
    return os.path.basename(path) == f"{SUPPORT}.py" and version_of(text) is not None


@lru_cache(maxsize=1024)
def _holds_code(text: str) -> bool:
    """Whether there is something in a file that a mend could change: more than imports, names of the module, and words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return not all(map(_is_plain, tree.body))


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        named = len(names) == len(node.targets) and all(name.startswith("__") for name in names)
        return named and not any(isinstance(one, ast.Lambda) for one in ast.walk(node.value))
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass))


def _place(path: str, folder: str) -> str:
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return path
