"""Unsaved text in the place of files: import, `linecache` and `inspect` see it, whether the file exists or not.

Standard library only.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import os
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType

from .places import canonical

SOURCES = "GRAPHMEND_WORKER_SOURCES"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def install_texts(texts: Mapping[str, str]) -> None:
    """Let every later import of one of these files (absolute paths) compile the given text, not what is on disk.

    Texts that were installed before stay, where a file is not given again.
    """
    if not texts:
        return
    for path, text in texts.items():
        for spelling in {path, os.path.realpath(path)}:
            show_source(spelling, text)
    known: dict[str, str] = {}
    for finder in [finder for finder in sys.meta_path if isinstance(finder, _TextFinder)]:
        known |= finder.texts
        sys.meta_path.remove(finder)
    sys.meta_path.insert(0, _TextFinder(known | {canonical(path): text for path, text in texts.items()}))


def install_sources(texts: Mapping[str, str], folder: str) -> None:
    """Install the files that were sent along, here and in every process of this worker started from here.

    `folder` is one that lives as long as those.
    """
    if not texts:
        return
    install_texts(texts)
    path = os.path.join(folder, "sources.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(texts), file)
    os.environ[SOURCES] = path


def inherit_sources() -> None:
    """Install what the process that started this one was sent along."""
    path = os.environ.get(SOURCES)
    if path is not None and os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            install_texts(json.load(file))


def unsaved_text(path: str) -> str | None:
    """The installed text of this file, if any."""
    wanted = canonical(path)
    for finder in sys.meta_path:
        if isinstance(finder, _TextFinder) and wanted in finder.texts:
            return finder.texts[wanted]
    return None


def exists(path: str) -> bool:
    """Whether there is such a file, on disk or as unsaved text."""
    return os.path.isfile(path) or unsaved_text(path) is not None


def show_source(path: str, text: str) -> None:
    """Make `linecache`, and with it tracebacks and `inspect.getsource`, give this text for the file."""
    lines = [line.rstrip("\r\n") + "\n" for line in _LINE.findall(_without_mark(text))]
    linecache.cache[path] = (len(text), None, lines, path)  # no time stamp: linecache.checkcache keeps it


class TextLoader(importlib.machinery.SourceFileLoader):
    """Loads a module from a given text under its real path; never reads or writes a .pyc."""

    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """The text compiled, with the file's path in the code objects."""
        code: CodeType = compile(_without_mark(self._text), self.path, "exec", dont_inherit=True)
        return code

    def get_source(self, fullname: str) -> str:  # noqa: ARG002
        """The text, as `inspect` asks for it."""
        return self._text


class _TextFinder(importlib.abc.MetaPathFinder):
    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)
        self._tails = {_tail(path) for path in self.texts}
        self._folders = frozenset(_parents(self.texts))
        self._names = {os.path.basename(folder) for folder in self._folders}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        tail = fullname.rpartition(".")[2]
        if os.path.normcase(tail) not in self._tails and os.path.normcase(tail) not in self._names:
            return None
        portions: list[str] = []
        for folder in sys.path if path is None else path:
            folder = folder or os.getcwd()
            spec = self._in(fullname, tail, folder)
            if spec is not None:
                return spec
            found = importlib.machinery.PathFinder.find_spec(fullname, [folder])
            if found is not None and found.loader is not None:
                return found
            package = os.path.join(folder, tail)
            if canonical(package) in self._folders or (found is not None and found.submodule_search_locations):
                portions.append(package)
        if fullname in sys.builtin_module_names or all(map(os.path.isdir, portions)):
            return None  # as it is without us
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)  # a package without __init__.py
        spec.submodule_search_locations = portions
        return spec

    def _in(self, fullname: str, tail: str, folder: str) -> importlib.machinery.ModuleSpec | None:
        package = os.path.join(folder, tail)
        initial = os.path.join(package, "__init__.py")
        module = f"{package}.py"
        text = self.texts.get(canonical(initial))
        if text is not None:
            return importlib.util.spec_from_file_location(
                fullname, initial, loader=TextLoader(fullname, initial, text), submodule_search_locations=[package]
            )
        text = self.texts.get(canonical(module))
        if text is not None and not os.path.isfile(initial):
            return importlib.util.spec_from_file_location(fullname, module, loader=TextLoader(fullname, module, text))
        return None


def _parents(paths: Iterable[str]) -> Iterator[str]:
    """Every folder above these files."""
    known: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in known and os.path.dirname(folder) != folder:
            known.add(folder)
            yield folder
            folder = os.path.dirname(folder)


def _tail(path: str) -> str:
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem


def _without_mark(text: str) -> str:
    return text[1:] if text.startswith("\ufeff") else text


def texts_changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each of the `new` texts with what it was before: the unsaved one, else what is on disk."""
    pairs = []
    for file, text in new.items():
        before = old.get(file)
        if before is None:
            try:
                with tokenize.open(file) as opened:  # what is installed for the file may be the new text itself
                    before = opened.read()
            except (OSError, SyntaxError, UnicodeError):
                before = ""
        pairs.append((before, text))
    return pairs
