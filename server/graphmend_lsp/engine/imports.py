"""Which files of the project a program may load: its entry's file and what the source of those files imports.

Found with `ast` and the file system alone; nothing is imported and no interpreter is asked. Files of installed packages
are no part of it.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from graphmend_lsp.engine.breaks import is_installed
from graphmend_lsp.engine.files import UnreadableSourceError, read_source

MOST_FILES = 4000
MOST_CHARACTERS = 32 * 1024 * 1024
_MISSING = re.compile(
    r"ModuleNotFoundError: No module named '([\w.]+)'|ImportError: cannot import name '(\w+)' from '([\w.]+)'"
)
_ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


@dataclass(frozen=True)
class ProgramFiles:
    """Texts by absolute path, and the folders, besides the entry's own, through which modules were found.

    `full`: there are more than may be looked at.
    """

    texts: Mapping[str, str]
    roots: tuple[str, ...] = ()
    full: bool = False


def program_files(
    file: str, roots: Sequence[str], unsaved: Mapping[str, str], also: Sequence[str] = (), folders: Sequence[str] = ()
) -> ProgramFiles:
    """The files that running an entry of `file` may load. `also` are modules that are looked for in `folders` too.

    The entry of an installed package has none: the package must be installed where it runs.
    """
    if is_installed(file):
        return ProgramFiles({})
    first = import_root(file)
    search = _Search(unsaved, tuple(dict.fromkeys(os.path.abspath(folder) for folder in (first, *roots))))
    search.add_file(file, first)
    used: list[str] = []
    for name in also:
        if search.add_module(name, search.folders):
            continue
        for folder in dict.fromkeys((*folders, *project_folders(file))):
            if not is_installed(os.path.join(folder, "x.py")) and search.add_module(name, (folder,)):
                used.append(folder)
                break
    search.follow()
    return ProgramFiles(search.texts, tuple(dict.fromkeys(used)))


def reachable_files(file: str, folders: Sequence[str], texts: Mapping[str, str]) -> ProgramFiles:
    """All files outside of installed packages that an entry of `file` may load, wherever its imports may find them.

    Besides its own folder, every one of `folders` is looked into, not the first that has a module alone. What the source
    does not import by name is not found; `texts` take the place of files.
    """
    first = import_root(file)
    own = (folder for folder in (first, *project_folders(file), *folders))
    usable = [os.path.abspath(one) for one in own if not is_installed(os.path.join(one, "x.py"))]
    search = _Search(texts, tuple(dict.fromkeys(usable)), every=True)
    search.add_file(os.path.abspath(file), first)
    search.follow()
    return ProgramFiles(search.texts, full=search.full)


def missing_module(message: str) -> str | None:
    """The module that an ImportError names: ``No module named 'x.y'``, or a submodule that a package does not hold."""
    found = _MISSING.search(message)
    return None if found is None else found[1] or f"{found[3]}.{found[2]}"


def import_root(file: str) -> str:
    """The folder from which a file is imported: the first above it that is no package."""
    folder = os.path.dirname(os.path.abspath(file))
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def project_folders(file: str) -> Iterator[str]:
    """The folders of the project around a file from which its modules may be imported: its top, and ``src`` in it."""
    folder = os.path.dirname(os.path.abspath(file))
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in _ROOT_MARKS):
            yield folder
            yield os.path.join(folder, "src")
            return
        if os.path.dirname(folder) == folder:
            return
        folder = os.path.dirname(folder)


@dataclass
class _Search:
    unsaved: Mapping[str, str]
    folders: tuple[str, ...]
    texts: dict[str, str] = field(default_factory=dict)
    every: bool = False  # take a module from every folder that has it, not from the first alone
    full: bool = False  # files were left out because there are too many
    _queue: list[tuple[str, str]] = field(default_factory=list)
    _size: int = 0

    def add_file(self, path: str, root: str) -> bool:
        """Take the file, with the packages it lies in, and have it followed. Whether it is there."""
        if path in self.texts:
            return True
        text = self._read(path)
        if text is None:
            return False
        if len(self.texts) >= MOST_FILES or self._size + len(text) > MOST_CHARACTERS:
            self.full = True
            return False
        self.texts[path] = text
        self._size += len(text)
        self._queue.append((path, root))
        folder = os.path.dirname(path)
        if self.every and os.path.basename(path) == "__init__.py":
            for name in _named_in_all(text):  # ``from package import *`` imports those that are modules
                self.add_file(os.path.join(folder, f"{name}.py"), root)
                self.add_file(os.path.join(folder, name, "__init__.py"), root)
        while folder != root and folder.startswith(root) and os.path.dirname(folder) != folder:
            self.add_file(os.path.join(folder, "__init__.py"), root)
            folder = os.path.dirname(folder)
        return True

    def add_module(self, name: str, folders: Iterable[str]) -> bool:
        """Take the module of that dotted name from the first folder that has its first part. Whether it is there."""
        parts = name.split(".")
        anywhere = False
        for root in folders:
            top = os.path.join(root, parts[0])
            if not (os.path.isdir(top) or self._is_file(f"{top}.py")):
                continue
            found = False
            for count in range(len(parts), 0, -1):
                base = os.path.join(root, *parts[:count])
                found = self.add_file(os.path.join(base, "__init__.py"), root) or self.add_file(f"{base}.py", root)
                if found:
                    break
            anywhere |= found
            if (found or os.path.isfile(os.path.join(top, "__init__.py"))) and not self.every:
                return found
        return anywhere

    def follow(self) -> None:
        """Take what the taken files import, and so on."""
        while self._queue:
            path, root = self._queue.pop()
            package = os.path.dirname(os.path.abspath(path))
            for level, name in imports_of(self.texts[path]):
                if level == 0:
                    self.add_module(name, dict.fromkeys((*self.folders, root)))
                    continue
                base = package
                for _ in range(level - 1):
                    base = os.path.dirname(base)
                inside = os.path.relpath(base, root)
                if not inside.startswith(os.pardir):
                    dotted = [] if inside == os.curdir else inside.split(os.sep)
                    self.add_module(".".join([*dotted, name] if name else dotted), (root,))

    def _read(self, path: str) -> str | None:
        if path in self.unsaved:
            return self.unsaved[path]
        try:
            return read_source(path).text
        except UnreadableSourceError:
            return None

    def _is_file(self, path: str) -> bool:
        return path in self.unsaved or os.path.isfile(path)


def _named_in_all(text: str) -> tuple[str, ...]:
    """The names in the lists and sums of lists that a package calls ``__all__``."""
    found = re.findall(r"^__all__\b[^=\n]*=([^\]\)]*)", text, re.MULTILINE)
    return tuple(dict.fromkeys(re.findall(r"""["'](\w+)["']""", " ".join(found))))


@lru_cache(maxsize=1024)
def imports_of(text: str) -> tuple[tuple[int, str], ...]:
    """What a source may import, anywhere in it: (level, dotted name); names imported from a module as if they were modules."""
    tree = parsed(text)
    if tree is None:
        return ()
    found: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys((0, alias.name) for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found[(node.level, module)] = None
            for alias in node.names:
                if alias.name != "*":
                    found[(node.level, f"{module}.{alias.name}" if module else alias.name)] = None
    return tuple(one for one in found if one != (0, ""))


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a source; None where it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
