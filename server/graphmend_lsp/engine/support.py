"""The support module: where a file finds it, and the edit that writes it once into the user's project.

Reads files. Where it cannot be imported for sure, mends hold what they need themselves.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from graphmend_lsp.engine.breaks import is_installed
from graphmend_lsp.engine.entries import BadEntryError, ProjectConfig, read_config
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.imports import import_root, project_folders
from graphmend_lsp.engine.project_texts import project_texts
from graphmend_lsp.engine.style import Formatting, formatting_of
from graphmend_lsp.engine.support_text import is_foreign, joined, names_of, support_text, version_of
from graphmend_lsp.mending.rule import SUPPORT, Style
from graphmend_lsp.model import Mend, Position, Span, TextEdit
from graphmend_lsp.notebook import SUFFIX, is_notebook
from graphmend_lsp.text import Text, apply_edits

Kind = Literal["file", "package", "inline"]
KINDS: tuple[Kind, ...] = ("file", "package", "inline")


def _is_newer(text: str | None) -> bool:
    """Whether a newer GraphMend wrote a support module that may lack what this one's mends import, which this one cannot add."""
    own = support_text()
    newer = text is not None and (version_of(text) or 0) > (version_of(own) or 0)
    return newer and not names_of(own) <= names_of(text or "")


def imported_from(module: str, text: str) -> frozenset[str]:
    """The names that a text imports from a module, wherever in it; more, where a string or a comment looks like an import."""
    if module not in text:
        return frozenset()
    found = re.findall(
        rf"^[ \t]*from {re.escape(module)} import[ \t]*(\([^)]*\)|[^\n]*(?<=\\)\n[^\n]*|[^\n]*)", text, re.MULTILINE
    )
    lines = (line.partition("#")[0] for words in found for line in words.strip("()").splitlines())
    return frozenset(part.split()[0] for line in lines for part in line.strip("\\ ").split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class Home:
    """Where a file imports the support module from: its name there, and the file that it is."""

    module: str
    path: str


@dataclass
class Supports:
    """The projects of the files of one report, each looked at once. `told` takes the place of what the projects say.

    `comments` is False where no mend gets a comment, whatever the projects say. `overlay` is the folder that mended copies of
    installed modules lie in: they import the support module that lies there, too. A `whole` support module is written where other
    processes may write it at the same time, and for a notebook.
    """

    sources: Sources
    told: Kind | None = None
    comments: bool = True
    overlay: str | None = None
    whole: bool = False
    _styles: dict[str, Style] = field(default_factory=dict)
    _homes: dict[str, Home | None] = field(default_factory=dict)
    _missing: dict[str, frozenset[str]] = field(default_factory=dict)

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
        """The mend with the edit that writes what it imports into the support module, where that lacks it or is an older one."""
        edits: dict[str, TextEdit] = {}
        for path in dict.fromkeys(edit.path for edit in mend.edits):
            home = self._homes.get(path)
            if home is None or self._kind(path) != "file":
                continue
            text = apply_edits(self.sources.get(path) or "", [edit for edit in mend.edits if edit.path == path])
            names = imported_from(home.module, text) & names_of(support_text())
            if not names:
                continue
            old = self.sources.get(home.path) or ""
            known = edits[home.path].text if home.path in edits else old
            whole = self.whole or is_notebook(path)  # a kernel keeps the module that it has loaded
            new = joined(known, support_text(None if whole else names | self._missed(home)))
            if new != old:
                edits[home.path] = TextEdit(home.path, Span(Position(1, 1), Text(old).position(len(old))), new)
        return replace(mend, edits=(*mend.edits, *edits.values())) if edits else mend

    def _missed(self, home: Home) -> frozenset[str]:
        """What files that were mended before import from a support module that is no longer there."""
        if home.path not in self._missing:
            found: frozenset[str] = frozenset()
            if self.sources.get(home.path) is None:
                texts = project_texts(os.path.dirname(home.path))
                found = found.union(*(imported_from(home.module, text) for _, text in texts))
            self._missing[home.path] = found & names_of(support_text())
        return self._missing[home.path]

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
            foreign = is_foreign(old) or _is_newer(old)
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
        if is_foreign(text) or os.path.isdir(path.removesuffix(".py")):
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
