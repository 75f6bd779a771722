"""The new texts of a mend-all written to the user's files: all of them or none, and only while the verdict still holds."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from graphmend_lsp.engine.cached_needs import digest_of_text
from graphmend_lsp.engine.files import Staged, UnreadableSourceError, read_source, stage
from graphmend_lsp.model import Plan


class ChangedError(Exception):
    """A file is no longer what the verdict stands on, so none was written; the message is for the user."""


def write_plan(plan: Plan) -> None:
    """Write the plan's texts, files that there were not first.

    Every new text lies beside its file before the first takes its place, and an interrupt waits until the last one has. A
    file that already holds the new text, because another part of the mend-all wrote it, stays.

    Raises:
        ChangedError: a file changed since it was mended, or since the programs loaded it.
        UnreadableSourceError, OSError: a file cannot be read or written; none was.
    """
    texts = {path: text for path, text in plan.texts.items() if not _holds(path, text)}
    old = {path: text for path, text in plan.old.items() if path not in plan.texts or path in texts}
    changed = [path for path, text in old.items() if os.path.exists(path) and read_source(path).text != text]
    if texts:
        changed += [path for path, sha in plan.stands_on.items() if path not in plan.texts and not _is(path, sha)]
    if changed:
        raise ChangedError(f"{changed[0]} changed during mending, so no file was written. Run the command again.")
    staged: list[Staged] = []
    with _to_the_end():
        try:
            for path in sorted(texts, key=os.path.exists):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                staged.append(stage(path, texts[path]))
            for one in staged:
                one.put()
        finally:
            for one in staged:
                one.drop()


def _holds(path: str, text: str) -> bool:
    try:
        return read_source(path).text == text
    except UnreadableSourceError:
        return False


def _is(path: str, sha: str) -> bool:
    """Whether a file has that content: its bytes, or its text where a worker elsewhere was sent the text."""
    try:
        if hashlib.sha256(Path(path).read_bytes()).hexdigest() == sha:
            return True
        return digest_of_text(read_source(path).text) == sha
    except (OSError, UnreadableSourceError):
        return False


@contextlib.contextmanager
def _to_the_end() -> Iterator[None]:
    """Let an interrupt wait until what is begun here is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
