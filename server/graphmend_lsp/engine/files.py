"""Source files as bytes on disk and as text in memory, so that a write changes nothing but what was edited."""

from __future__ import annotations

import codecs
import io
import os
import tempfile
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from graphmend_lsp.engine.notebook_files import NotebookFile, NotNotebookError, parse
from graphmend_lsp.notebook import UnsplitEditError, is_notebook


class UnreadableSourceError(Exception):
    """The file cannot be read as Python source; the message is for the user."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's text as it stands (line ends kept, byte order mark taken off) and how to write it back."""

    path: str
    text: str
    encoding: str
    bom: bool

    def encode(self, text: str) -> bytes:
        """`text` as bytes in this file's encoding, with its byte order mark."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)


@dataclass(frozen=True, slots=True)
class NotebookSource(SourceFile):
    """A notebook: its text is the program that its cells make."""

    notebook: NotebookFile

    def encode(self, text: str) -> bytes:
        """The notebook with the cells of this program."""
        try:
            raw = self.notebook.written(text)
        except UnsplitEditError as error:
            raise UnreadableSourceError(f"{self.path}: {error}") from error
        return (codecs.BOM_UTF8 if self.bom else b"") + raw.encode("utf-8")


def read_source(path: str) -> SourceFile:
    """Read a Python file, or the cells of a notebook, without touching a byte of it.

    Raises:
        UnreadableSourceError: missing, not a file, not decodable.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableSourceError(f"{path}: {error.strerror or error}") from error
    bom = data.startswith(codecs.BOM_UTF8)
    if is_notebook(path):
        return _read_notebook(path, data[len(codecs.BOM_UTF8) if bom else 0 :], bom)
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        return SourceFile(path, data[len(codecs.BOM_UTF8) if bom else 0 :].decode(encoding), encoding, bom)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UnreadableSourceError(f"{path} cannot be read as Python source ({error}).") from error


def _read_notebook(path: str, data: bytes, bom: bool) -> SourceFile:
    try:
        raw = data.decode("utf-8")
        notebook = parse(path, raw)
    except UnicodeDecodeError as error:
        raise UnreadableSourceError(f"{path} cannot be read as a notebook ({error}).") from error
    except NotNotebookError as error:
        raise UnreadableSourceError(str(error)) from error
    if notebook is None:
        return SourceFile(path, raw, "utf-8", bom)
    return NotebookSource(path, notebook.text, "utf-8", bom, notebook)


def notebooks(paths: Iterable[str]) -> dict[str, NotebookFile]:
    """The notebooks among these files.

    Raises:
        UnreadableSourceError: one cannot be read.
    """
    found = {path: read_source(path) for path in dict.fromkeys(paths) if is_notebook(path)}
    return {path: source.notebook for path, source in found.items() if isinstance(source, NotebookSource)}


@dataclass(frozen=True, slots=True)
class Staged:
    """A file's new bytes, in a file beside it that takes its place at once."""

    temporary: Path
    target: Path

    def put(self) -> None:
        """Let the new file take the old one's place.

        Raises:
            OSError: it cannot.
        """
        os.replace(self.temporary, self.target)

    def drop(self) -> None:
        """Remove the new file, if it has not taken the old one's place."""
        self.temporary.unlink(missing_ok=True)


def write_source(path: str, text: str) -> None:
    """Replace the file's text at once (a crash leaves the old file or the new one, never half of it).

    Raises:
        UnreadableSourceError: the old file cannot be read, or the text does not fit its encoding.
        OSError: the folder cannot be written to.
    """
    staged = stage(path, text)
    try:
        staged.put()
    except BaseException:
        staged.drop()
        raise


def stage(path: str, text: str) -> Staged:
    """The file's new text beside it, in the file's encoding and with its mode. A file that there was not is UTF-8.

    Raises:
        UnreadableSourceError: the old file cannot be read, or the text does not fit its encoding.
        OSError: the folder cannot be written to.
    """
    there = os.path.exists(path)
    source = read_source(path) if there else SourceFile(path, "", "utf-8", bom=False)
    try:
        data = source.encode(text)
    except UnicodeEncodeError as error:
        raise UnreadableSourceError(
            f"{path}: the new text cannot be written in the file's encoding, {source.encoding}."
        ) from error
    target = Path(path).resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    staged = Staged(Path(temporary), target)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, target.stat().st_mode & 0o7777 if there else 0o666 & ~_umask())
    except BaseException:
        staged.drop()
        raise
    return staged


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class Sources:
    """The texts of files as the program sees them: unsaved ones first, then what is on disk; each read once."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts: dict[str, str | None] = dict(texts)

    def get(self, path: str) -> str | None:
        """The file's text, or None when there is no readable source (``<string>``, a builtin, a deleted file)."""
        if path not in self._texts:
            try:
                self._texts[path] = read_source(path).text
            except UnreadableSourceError:
                self._texts[path] = None
        return self._texts[path]
