"""The user's settings, read with tolerance: what is not understood keeps its default and is said in the log."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from graphmend_lsp.engine.known_keys import EXTENSION, SERVER, unknown
from graphmend_lsp.engine.path_map import BadPathMapError, parse_pair
from graphmend_lsp.lsp.params import at
from graphmend_lsp.lsp.services import Project
from graphmend_lsp.model import Entry, Mode

SECTION = "graphmend"


@dataclass(frozen=True, slots=True)
class Settings:
    """`graphmend.*`. `timeout` is in seconds, `memory` in MiB.

    `explore`: also follow, without data, the sides of branches that the inputs do not take. `guess`: make inputs up for models
    without an entry. `comments`: explain a mend that is not plain in a comment line. `code_lens`: show lenses above entries and
    models that ran. `inlay_hints`: mark where graphs begin. `interpreter_found`: the editor has found the interpreter, the user
    has set none.
    """

    enable: bool = True
    explore: bool = True
    guess: bool = True
    comments: bool = True
    code_lens: bool = True
    inlay_hints: bool = False
    interpreter: str | None = None
    interpreter_found: bool = False
    run: Literal["onSave", "onEverySave", "manual", "off"] = "onSave"
    entries: tuple[str, ...] = ()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    mode: Literal["eval", "train", "both"] = "eval"
    worker_command: tuple[str, ...] = ()
    worker_path_mapping: tuple[str, ...] = ()
    worker_timeout: float = 120.0
    worker_memory: int | None = None
    log_level: Literal["error", "warning", "info", "debug"] = "info"

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes to run in."""
        return ("eval", "train") if self.mode == "both" else (self.mode,)


_KEYS = {"logLevel": "log_level", "worker.command": "worker_command", "worker.timeout": "worker_timeout"}
_KEYS |= {"interpreterFound": "interpreter_found"}
_KEYS |= {"codeLens": "code_lens", "inlayHints": "inlay_hints"}
_KEYS |= {"worker.memory": "worker_memory", "worker.pathMapping": "worker_path_mapping"}
_CHOICES = {
    "run": ("onSave", "onEverySave", "manual", "off"),
    "device": ("auto", "cpu", "cuda"),
    "mode": ("eval", "train", "both"),
    "log_level": ("error", "warning", "info", "debug"),
}
_NAMES = frozenset(field.name for field in fields(Settings))


def read_settings(value: Any, base: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings in `value` over `base`, and complaints about what was not understood.

    `value` is the section itself, or holds it under ``graphmend``; nested or with dotted keys; None changes nothing.
    """
    is_ours = isinstance(at(value, SECTION), dict)  # else it may be the settings of others
    if is_ours:
        value = value[SECTION]
    if not isinstance(value, dict):
        return base, ()
    found = {field.name: getattr(base, field.name) for field in fields(Settings)}
    flat = {key.removeprefix(f"{SECTION}."): given for key, given in _flat(value).items()}
    known = (*SERVER, *EXTENSION)
    told = [key for key in flat if _KEYS.get(key, key) not in _NAMES]
    complaints = [words for words in unknown(told, known, f"{SECTION}.") if is_ours or "did you mean" in words]
    for key, given in flat.items():
        name = _KEYS.get(key, key)
        if name not in _NAMES or given is None:
            continue
        read = _read(name, given)
        if isinstance(read, _Complaint):
            complaints.append(f"graphmend.{key} must be {read.wanted}; GraphMend ignores {given!r:.60}")
        else:
            found[name] = read
    return Settings(**found), tuple(complaints)


def in_project(settings: Settings, project: Project) -> Settings:
    """The settings as they hold in a project: what it says stands where the editor's own are as they always are."""
    usual = Settings()
    told: dict[str, Any] = {
        "device": project.device, "mode": project.mode, "explore": project.explore, "guess": project.guess,
        "interpreter": project.python, "worker_timeout": project.timeout, "worker_memory": project.memory,
    }  # fmt: skip
    open_ = {
        name for name, value in told.items() if value is not None and getattr(settings, name) == getattr(usual, name)
    }
    open_ |= {"interpreter"} if settings.interpreter_found and project.python is not None else set()
    return replace(settings, **{name: told[name] for name in open_})


def told_entries(settings: Settings, roots: tuple[str, ...]) -> tuple[Entry, ...]:
    """The entries that the setting names as ``FILE.py:FUNC``; relative files lie in the first root that has them."""
    found: list[Entry] = []
    for told in settings.entries:
        file, _, function = told.rpartition(":")
        if not file or not function.isidentifier():
            continue
        places = [Path(root, file) for root in roots] or [Path(file).absolute()]
        place = next((path for path in places if path.is_file()), places[0])
        found.append(Entry(os.path.normpath(place), function))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Complaint:
    wanted: str


def _flat(value: dict[Any, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(key, str) and isinstance(inner, dict) and not prefix:
            flat |= _flat(inner, f"{key}.")
        elif isinstance(key, str):
            flat[prefix + key] = inner
    return flat


def _read(name: str, given: Any) -> Any:
    if name in _CHOICES:
        return given if given in _CHOICES[name] else _Complaint(" or ".join(_CHOICES[name]))
    if name in ("enable", "explore", "guess", "comments", "code_lens", "inlay_hints", "interpreter_found"):
        return given if isinstance(given, bool) else _Complaint("true or false")
    if name == "interpreter":
        if isinstance(given, list) and all(isinstance(part, str) for part in given):
            given = given[0] if given else ""
        return (given or None) if isinstance(given, str) else _Complaint("a path")
    if name in ("entries", "worker_command"):
        ok = isinstance(given, list) and all(isinstance(part, str) for part in given)
        return tuple(given) if ok else _Complaint("a list of strings")
    if name == "worker_path_mapping":
        try:
            return tuple("=".join(parse_pair(pair)) for pair in given)
        except (TypeError, AttributeError, BadPathMapError):
            return _Complaint('a list of strings like "/FOLDER/HERE=/FOLDER/THERE"')
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < 1e9:
        return _Complaint("a number that is not negative")
    if name == "worker_memory":
        return int(given) or None
    return float(given) or 120.0 if name == "worker_timeout" else given
