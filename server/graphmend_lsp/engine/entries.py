"""Which entries there are: told by the user, named in ``pyproject.toml``, or found in the files themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from graphmend_lsp.analysis.entries import find_entries
from graphmend_lsp.analysis.entry_guesses import guess_entries
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.known_keys import PROJECT, unknown
from graphmend_lsp.model import ASSUMPTIONS, Entry, Failure, Mode

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_CHOICES = {"device": ("auto", "cpu", "cuda"), "mode": ("eval", "train", "both")}
_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages", "venv", "env"})


class BadEntryError(ValueError):
    """What the user wrote is no entry; the message says what one looks like."""


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """``[tool.graphmend]`` of the nearest ``pyproject.toml``: entries as written, and the folder they are relative to.

    What is None the project says nothing of. `timeout` is in seconds, `memory` in MiB. `assume` are the kinds of assumptions
    (`model.ASSUMPTIONS`) that the project accepts. `support` is where mended files get what they need besides from. `comments`
    says whether a mend that is not plain gets a comment line.
    """

    folder: str
    entries: tuple[str, ...] = ()
    device: str | None = None
    mode: str | None = None
    python: str | None = None
    assume: tuple[str, ...] = ()
    support: Literal["file", "package", "inline"] = "file"
    comments: bool = True
    explore: bool | None = None
    guess: bool | None = None
    timeout: float | None = None
    memory: int | None = None
    complaints: tuple[str, ...] = ()  # about keys that nobody knows


def parse_entry(written: str, folder: str) -> Entry:
    """An entry as a user writes it, ``FILE.py:FUNC``, relative to `folder`.

    Raises:
        BadEntryError: not of that form, or the file is not there.
    """
    file, colon, function = written.rpartition(":")
    if not colon or not function.isidentifier() or not file:
        raise BadEntryError(f"{written!r} is not an entry. Write it as FILE.py:FUNCTION.")
    path = os.path.abspath(os.path.join(folder, os.path.expanduser(file)))
    if not os.path.isfile(path):
        raise BadEntryError(f"{written!r}: there is no file {path}.")
    return Entry(path, function)


def read_config(start: str) -> ProjectConfig:
    """The nearest ``pyproject.toml`` at or above `start` that has ``[tool.graphmend]``; an empty one when there is none.

    Raises:
        BadEntryError: the table does not read as it should.
    """
    path = Path(start).resolve()
    for folder in (path, *path.parents) if path.is_dir() else path.parents:
        file = folder / "pyproject.toml"
        if not file.is_file():
            continue
        try:
            table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("graphmend")
        except (OSError, ValueError) as error:
            raise BadEntryError(f"{file}: {error}") from error
        if not isinstance(table, dict):
            continue
        entries = table.get("entries", [])
        if not (isinstance(entries, list) and all(isinstance(entry, str) for entry in entries)):
            raise BadEntryError(f'{file}: [tool.graphmend] entries must be a list of strings like "FILE.py:FUNCTION".')
        words_of = {key: table.get(key) for key in ("device", "mode", "python")}
        if bad := [key for key, word in words_of.items() if not (word is None or isinstance(word, str))]:
            raise BadEntryError(f"{file}: [tool.graphmend] {bad[0]} must be a string.")
        for key, words in _CHOICES.items():
            if words_of[key] not in (None, *words):
                raise BadEntryError(f"{file}: [tool.graphmend] {key} must be {', '.join(words[:-1])} or {words[-1]}.")
        switches = {key: table.get(key) for key in ("explore", "guess")}
        if bad := [key for key, on in switches.items() if not (on is None or isinstance(on, bool))]:
            raise BadEntryError(f"{file}: [tool.graphmend] {bad[0]} must be true or false.")
        limits = {key: _limit(table.get(key), key, file) for key in ("timeout", "memory")}
        complaints = unknown(table, PROJECT, f"{file}: [tool.graphmend] ")
        assume = _assumed(table.get("assume", []), file)
        support = table.get("support", "file")
        if support not in ("file", "package", "inline"):
            raise BadEntryError(f'{file}: [tool.graphmend] support is "file", "package" or "inline".')
        comments = table.get("comments", True)
        if not isinstance(comments, bool):
            raise BadEntryError(f"{file}: [tool.graphmend] comments is true or false.")
        return ProjectConfig(
            str(folder),
            tuple(entries),
            **words_of,
            **switches,
            timeout=limits["timeout"],
            memory=None if limits["memory"] is None else int(limits["memory"]),
            assume=assume,
            support=support,
            comments=comments,
            complaints=complaints,
        )
    return ProjectConfig(str(path if path.is_dir() else path.parent))


def accepted_for(file: str) -> tuple[str, ...]:
    """The kinds of assumptions that the project of a file accepts; none where its table does not read as it should."""
    try:
        return read_config(os.path.dirname(file)).assume
    except BadEntryError:
        return ()


def _limit(given: object, key: str, file: Path) -> float | None:
    if given is None or (isinstance(given, (int, float)) and not isinstance(given, bool) and 0 < given < 1e9):
        return given
    raise BadEntryError(f"{file}: [tool.graphmend] {key} must be a number above 0.")


def _assumed(kinds: object, file: Path) -> tuple[str, ...]:
    if not isinstance(kinds, list) or any(kind not in ASSUMPTIONS for kind in kinds):
        known = ", ".join(ASSUMPTIONS)
        raise BadEntryError(f"{file}: [tool.graphmend] assume must be a list of these: {known}.")
    return tuple(kinds)


def python_files(paths: Iterable[str]) -> Iterator[str]:
    """The Python files among `paths` and below the folders among them, environments and caches left out."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(
                name
                for name in folders
                if name not in _SKIPPED
                and not name.startswith(".")
                and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
            )
            yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".py"))


def entries_in(
    paths: Sequence[str], told: Sequence[Entry], sources: Sources, made_up: bool = False
) -> tuple[Entry, ...]:
    """The told entries, then those that the files themselves have; each once.

    With `made_up`, and when none was told, a file that has none is run with inputs that are made up for it.
    """
    found = list(told)
    for path in paths:
        if (text := sources.get(path)) is not None:
            own = find_entries(text, path)
            found += own or (guess_entries(text, path) if made_up and not told else ())
    return tuple(dict.fromkeys(found))


def keys_of(request: CheckRequest) -> list[tuple[Entry, Mode]]:
    """What the request runs, all shards together. Reads files."""
    entries = entries_in(tuple(python_files(request.paths)), request.entries, Sources(request.texts), request.made_up)
    return [(entry, mode) for entry in entries for mode in request.modes]


def searched_files(request: CheckRequest) -> tuple[str, ...]:
    """The files whose source is searched for breaks. Walks folders."""
    return tuple(dict.fromkeys(python_files(request.paths))) if request.searched is None else request.searched


def excused(entry: Entry, failure: Failure | None) -> Failure | None:
    """The failure, which is no error of the program's when it kept an entry that nobody wrote from being made."""
    if failure is None or not entry.is_made_up or failure.kind == "no-inputs" or failure.stage not in ("load", "entry"):
        return failure
    message = f"GraphMend could not guess inputs for {entry.name}: {failure.message}"
    return replace(failure, kind="no-inputs", message=message)
