"""Notices that the editor has died, also when our stdin stays open (a shell in between keeps it so)."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable

_PERIOD = 1.0  # seconds


def watch(process_id: int, on_death: Callable[[], None]) -> bool:
    """Call `on_death` from a thread when the process ends; False when there is no such process to watch.

    A process that does not exist here (the editor runs on another machine or in another container) is not watched.
    """
    if process_id <= 0 or process_id == os.getpid() or not alive(process_id):
        return False

    def wait() -> None:
        if not _wait_with_handle(process_id):
            while alive(process_id):
                time.sleep(_PERIOD)
        on_death()

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()
    return True


def alive(process_id: int) -> bool:
    """Whether a process exists."""
    if sys.platform == "win32":
        handle = _windows_handle(process_id)
        if handle:
            _kernel32().CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _wait_with_handle(process_id: int) -> bool:
    """Wait through the operating system's own handle (it also ends for a zombie); False where there is none."""
    if sys.platform == "win32":
        handle = _windows_handle(process_id)
        if not handle:
            return True
        _kernel32().WaitForSingleObject(handle, 0xFFFFFFFF)
        return True
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        select.select([descriptor], [], [])
    finally:
        os.close(descriptor)
    return True


if sys.platform == "win32":
    import ctypes

    def _kernel32() -> ctypes.WinDLL:
        return ctypes.WinDLL("kernel32", use_last_error=True)

    def _windows_handle(process_id: int) -> int:
        synchronize = 0x00100000
        return int(_kernel32().OpenProcess(synchronize, False, process_id) or 0)
