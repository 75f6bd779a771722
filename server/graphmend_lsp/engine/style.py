"""How a project has its code formatted: line length and the folders of its own modules, as its tools' settings say."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DEFAULT = 88  # what ruff and black take where their table says nothing
_PROFILES: Mapping[str, Mapping[str, object]] = {  # of isort
    "google": {"force_single_line": True, "force_sort_within_sections": True, "line_length": 1000},
    "open_stack": {"force_single_line": True, "force_sort_within_sections": True},
    "pycharm": {"force_sort_within_sections": True},
    "plone": {"force_single_line": True},
}


@dataclass(frozen=True, slots=True)
class Formatting:
    """`line_length` is None where no tool has settings. `folders` are those whose modules are the project's own.

    `single_line` and `mixed` are as in `Style`; `third_party` are modules that the settings name so.
    """

    line_length: int | None
    folders: tuple[str, ...]
    first_party: frozenset[str]
    single_line: bool = False
    mixed: bool = False
    third_party: frozenset[str] = frozenset()

    def is_source(self, folder: str) -> bool:
        """Whether what lies in a folder is the project's own."""
        return not self.folders or os.path.realpath(folder) in self.folders


def formatting_of(path: str) -> Formatting:
    """What the nearest settings of ruff, black or isort at or above a file say; settings that do not read say nothing."""
    for folder in Path(path).resolve().parents:
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            table = _table(folder / name)
            tools = table.get("tool", {}) if name == "pyproject.toml" else {"ruff": table}
            tools = {one: tools[one] for one in ("ruff", "black", "isort") if isinstance(tools.get(one), dict)}
            if table and tools:
                return _formatting(folder, {**_isort(folder), **tools})
        if tools := _isort(folder):
            return _formatting(folder, tools)
    return Formatting(None, (), frozenset())


def _isort(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The settings of isort in a file that holds no TOML."""
    for name, section in ((".isort.cfg", "settings"), ("setup.cfg", "isort"), ("tox.ini", "isort")):
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(folder / name, "utf-8")
        except (OSError, configparser.Error, UnicodeError):
            continue
        if parser.has_section(section):
            return {"isort": {key: _value(value) for key, value in parser.items(section)}}
    return {}


def _value(text: str) -> object:
    """A value as isort reads it from a file without types: a number, a flag, or else words."""
    if text.strip().isdigit():
        return int(text)
    flag = {"true": True, "false": False}.get(text.strip().lower())
    words = [one for one in text.replace(",", " ").split() if one]
    return flag if flag is not None else text.strip() if len(words) == 1 else words


def _table(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, ValueError):
        return {}


def _formatting(folder: Path, tools: Mapping[str, Any]) -> Formatting:
    ruff, black, isort = (tools.get(name, {}) for name in ("ruff", "black", "isort"))
    lengths = [ruff.get("line-length"), black.get("line-length", black.get("line_length")), isort.get("line_length")]
    if not any(isinstance(one, int) for one in lengths):
        lengths = [_PROFILES.get(str(isort.get("profile")), {}).get("line_length")]
    length = next((one for one in lengths if isinstance(one, int)), _DEFAULT)
    told = ruff.get("src", isort.get("src_paths", [".", "src"]))
    sources = _words(told) or [".", "src"]
    folders = tuple(os.path.realpath(folder / one) for one in sources)
    sorting = ruff.get("lint", {}).get("isort", ruff.get("isort", {}))
    named = [*_words(sorting.get("known-first-party")), *_words(isort.get("known_first_party"))]
    asked = {**_PROFILES.get(str(isort.get("profile")), {}), **isort}
    single = sorting.get("force-single-line", asked.get("force_single_line"))
    mixed = sorting.get("force-sort-within-sections", asked.get("force_sort_within_sections"))
    others = frozenset((*_words(sorting.get("known-third-party")), *_words(isort.get("known_third_party"))))
    first = frozenset(named).union(*map(_modules, folders)) - others
    return Formatting(length, folders, first, single is True, mixed is True, others)


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return value.replace(",", " ").split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _modules(folder: str) -> frozenset[str]:
    """The names of the modules and packages in a folder."""
    try:
        found = list(os.scandir(folder))
    except OSError:
        return frozenset()
    names = (one.name.removesuffix(".py") for one in found if one.is_dir() or one.name.endswith(".py"))
    return frozenset(name for name in names if name.isidentifier())
