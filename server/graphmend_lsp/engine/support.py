"""The support module: where a file finds it, and the edit that writes it once into the user's project.

Reads files. Where it cannot be imported for sure, mends hold what they need themselves.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from graphmend_lsp.engine.breaks import is_installed
from graphmend_lsp.engine.entries import BadEntryError, ProjectConfig, read_config
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.imports import import_root, project_folders
from graphmend_lsp.engine.project_texts import project_texts
from graphmend_lsp.engine.style import Formatting, formatting_of
from graphmend_lsp.mending.rule import SUPPORT, Style
from graphmend_lsp.model import Mend, Position, Span, TextEdit
from graphmend_lsp.notebook import SUFFIX, is_notebook
from graphmend_lsp.text import Text

Kind = Literal["file", "package", "inline"]
KINDS: tuple[Kind, ...] = ("file", "package", "inline")
_VERSION = re.compile(r"^VERSION = (\d+)$", re.MULTILINE)
_MARK = "What code that GraphMend has mended imports."


@lru_cache(maxsize=1)
def support_text() -> str:
    """The text of the support module."""
    return (Path(__file__).parents[1] / "support" / f"{SUPPORT}.py").read_text("utf-8")


def version_of(text: str) -> int | None:
    """The version of a support module; None for a file that is not ours."""
    found = _VERSION.search(text)
    return int(found[1]) if found is not None and _MARK in text else None


def _is_foreign(text: str | None) -> bool:
    """Whether there is a file that is not ours; an empty one may become ours: an editor creates it before it writes."""
    return text is not None and bool(text.strip()) and version_of(text) is None


@dataclass(frozen=True, slots=True)
class Home:
    """Where a file imports the support module from: its name there, and the file that it is."""

    module: str
    path: str


@dataclass
class Supports:
    """The projects of the files of one report, each looked at once. `told` takes the place of what the projects say.

    `comments` is False where no mend gets a comment, whatever the projects say. `overlay` is the folder that mended copies of
    installed modules lie in: they import the support module that lies there, too.
    """

    sources: Sources
    told: Kind | None = None
    comments: bool = True
    overlay: str | None = None
    _styles: dict[str, Style] = field(default_factory=dict)
    _homes: dict[str, Home | None] = field(default_factory=dict)

    def style(self, path: str) -> Style:
        """How the project of a file writes code, and how the file imports the support module."""
        if path not in self._styles:
            formatting = formatting_of(path)
            kind = self._kind(path)
            home = self._home(path) if kind == "file" else None
            module = {"file": home.module if home is not None else None, "package": SUPPORT, "inline": None}[kind]
            first = formatting.first_party | (_own(formatting, home) - formatting.third_party)
            self._styles[path] = Style(
                module,
                first,
                formatting.line_length,
                formatting.single_line,
                formatting.mixed,
                self.comments and self._config(path).comments,
            )
        return self._styles[path]

    def completed(self, mend: Mend) -> Mend:
        """The mend with the edit that writes the support module, where it imports it and an older one, or none, is there."""
        edits: dict[str, TextEdit] = {}
        for edit in mend.edits:
            home = self._homes.get(edit.path)
            if home is None or self._kind(edit.path) != "file" or f"from {home.module} import" not in edit.text:
                continue
            old = self.sources.get(home.path)
            if old is None or (version_of(old) or 0) < (version_of(support_text()) or 0):
                end = Text(old or "").position(len(old or ""))
                edits[home.path] = TextEdit(home.path, Span(Position(1, 1), end), support_text())
        return replace(mend, edits=(*mend.edits, *edits.values())) if edits else mend

    def _kind(self, path: str) -> Kind:
        return self._config(path).support if self.told is None else self.told

    def _config(self, path: str) -> ProjectConfig:
        """What the project of a file says; where that does not read, its mends import nothing."""
        folder = self.overlay if self.overlay is not None and is_installed(path) else os.path.dirname(path)
        try:
            return read_config(folder)
        except BadEntryError:
            return ProjectConfig(folder, support="inline")

    def _home(self, path: str) -> Home | None:
        if path not in self._homes:
            home = home_of(path, self.sources)
            if self.overlay is not None and is_installed(path):
                home = Home(SUPPORT, os.path.join(self.overlay, f"{SUPPORT}.py"))
            old = self.sources.get(home.path) if home is not None else None
            foreign = _is_foreign(old)
            if home is not None and (foreign or os.path.isdir(home.path.removesuffix(".py"))):
                home = None  # something else has the name
            self._homes[path] = home
        return self._homes[path]


def foreign_support(start: str) -> str | None:
    """That a project imports its support module from no file, because another one has the name; None where it has not.

    `start` is a file or folder of the project.
    """
    file = start if start.endswith((".py", SUFFIX)) else os.path.join(start, "x.py")
    try:
        if read_config(os.path.dirname(file)).support != "file":
            return None
    except BadEntryError:
        return None
    sources = Sources({})
    for folder in dict.fromkeys((os.path.dirname(os.path.abspath(file)), import_root(file), *project_folders(file))):
        path = os.path.join(folder, f"{SUPPORT}.py")
        text = sources.get(path) if os.path.isfile(path) else None
        if _is_foreign(text) or os.path.isdir(path.removesuffix(".py")):
            name = path if text is not None else path.removesuffix(".py")
            return (
                f"{name} is not GraphMend's, so mended files hold what they would import from it. Rename it, or set "
                'support = "package" in [tool.graphmend].'
            )
    return None


def _own(formatting: Formatting, home: Home | None) -> frozenset[str]:
    """The support module, where an import sorter takes it for the project's own."""
    if home is None:
        return frozenset()
    top = home.module.split(".")[0]
    beside = os.path.dirname(home.path) if top == home.module else os.path.dirname(os.path.dirname(home.path))
    return frozenset((top,)) if formatting.is_source(beside) else frozenset()


def home_of(path: str, sources: Sources) -> Home | None:
    """Where a file of the user's imports the support module from; None where no place is sure to be found.

    It lies beside the outermost package, the script or the notebook; in a package that is built and installed elsewhere, inside.
    """
    if is_installed(path) or not os.path.isabs(path):
        return None
    root, folder = import_root(path), os.path.dirname(os.path.abspath(path))
    if is_notebook(path):
        return Home(SUPPORT, os.path.join(folder, f"{SUPPORT}.py"))  # a kernel starts in the notebook's folder
    text = sources.get(path) or ""
    if root == folder:
        used = _imported_as(path, root)
        if used is not None:
            if _is_script(text):
                return None  # run from here, and imported from there
            root = used
    elif _is_script(text) and not _imports_own(text, os.path.relpath(folder, root).split(os.sep)[0]):
        return None  # a script in a package finds what lies beside itself
    package = os.path.relpath(folder, root).split(os.sep)[0]
    if package != os.curdir and _is_built(root):
        return (
            Home(f"{package}.{SUPPORT}", os.path.join(root, package, f"{SUPPORT}.py"))
            if package.isidentifier()
            else None
        )
    return Home(SUPPORT, os.path.join(root, f"{SUPPORT}.py"))


def _is_script(text: str) -> bool:
    return "__main__" in text


def _imports_own(text: str, package: str) -> bool:
    """Whether a file imports from its own package, which only works where that is found."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    for one in body:
        if isinstance(one, ast.ImportFrom) and (one.level or (one.module or "").split(".")[0] == package):
            return True
        if isinstance(one, ast.Import) and any(alias.name.split(".")[0] == package for alias in one.names):
            return True
    return False


def _is_built(root: str) -> bool:
    """Whether packages in a folder are built into a distribution: by its project file, or that of the folder above ``src``."""
    for folder in (root, os.path.dirname(root)):
        if os.path.isfile(os.path.join(folder, "setup.py")):
            return True
        for name, marks in (("pyproject.toml", ("[project]", "[tool.poetry]")), ("setup.cfg", ("[metadata]",))):
            lines = _lines(os.path.join(folder, name))
            if any(mark in lines for mark in marks):
                return True
        if os.path.exists(os.path.join(folder, ".git")):
            return False
    return False


def _lines(path: str) -> frozenset[str]:
    try:
        return frozenset(line.strip() for line in Path(path).read_text("utf-8").splitlines())
    except (OSError, UnicodeError):
        return frozenset()


def _imported_as(path: str, folder: str) -> str | None:
    """The folder above from which other files of the project import this one, through folders that are no packages."""
    top = next(iter(project_folders(path)), None)
    while top is not None and folder != top and os.path.dirname(folder) != folder:
        above = os.path.dirname(folder)
        parts = [*os.path.relpath(path, above).removesuffix(".py").split(os.sep)]
        if all(part.isidentifier() for part in parts) and _is_imported(parts, (text for _, text in project_texts(top))):
            return above
        folder = above
    return None


def _is_imported(parts: list[str], texts: Iterable[str]) -> bool:
    package, module = re.escape(".".join(parts[:-1])), re.escape(parts[-1])
    whole = rf"(?:import|from)\s+{package}\.{module}\b"
    pattern = re.compile(rf"^\s*(?:{whole}|from\s+{package}\s+import\b[^#]*\b{module}\b)", re.MULTILINE)
    return any(pattern.search(text) for text in texts)
