"""The worker's own folder for temporary files, which holds all of its children's; and what killed workers have left.

A worker holds the file `LOCK` of its folder locked until it and all of its children are gone. One that is killed leaves its
folder, with some 150 MB of compiled kernels, and a free lock: the next worker removes such folders. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator

PREFIX = "graphmend-"
LOCK = "lock"


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """This process's temporary files go to a folder of its own, which is gone at the end."""
    before = tempfile.tempdir
    sweep(tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix=PREFIX)
    held = _hold(folder)
    tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = before
        if held is not None:
            os.close(held)
        shutil.rmtree(folder, ignore_errors=True)


def new_folder() -> str:
    """An empty folder, in the worker's own. Who clears temporary files away after days may have taken that."""
    os.makedirs(tempfile.gettempdir(), exist_ok=True)
    return tempfile.mkdtemp(prefix=PREFIX)


def sweep(place: str) -> None:
    """Remove the folders of workers of this user that are gone."""
    try:
        names = [name for name in os.listdir(place) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        folder = os.path.join(place, name)
        if _is_ours(folder) and (held := _lock(os.path.join(folder, LOCK), os.O_RDWR)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _is_ours(folder: str) -> bool:
    try:
        told = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(told.st_mode) and hasattr(os, "getuid") and told.st_uid == os.getuid()


def _hold(folder: str) -> int | None:
    """Lock a folder: its lock has its name only when it is held, so that nobody finds it free before."""
    making = os.path.join(folder, LOCK + ".new")
    held = _lock(making, os.O_RDWR | os.O_CREAT)
    if held is not None:
        os.rename(making, os.path.join(folder, LOCK))
    return held


def _lock(path: str, flags: int) -> int | None:
    """The locked file; None when somebody else holds it, when there is none, or where there are no such locks."""
    try:
        import fcntl

        held = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held
