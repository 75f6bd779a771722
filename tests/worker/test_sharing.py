"""What a program may not bring when it is built once and its ways run in forks of that."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graphmend_lsp.worker.sharing import UnsharedError, fit_for_forks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forks on Linux alone")
KEPT: list[object] = []


def opened(folder: Path) -> None:
    KEPT.append(open(folder / "data", "w+"))  # noqa: SIM115


def begun(_folder: Path) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, daemon=True)
    thread.start()
    KEPT.append(stop)


def shared(_folder: Path) -> None:
    KEPT.append(torch.ones(1 << 16).share_memory_())


@pytest.mark.parametrize("brings", [opened, begun, shared])
def test_what_forks_would_have_in_common_is_not_shared(brings: Callable[[Path], None], tmp_path: Path) -> None:
    try:
        with pytest.raises(UnsharedError), fit_for_forks():
            brings(tmp_path)
    finally:
        for one in KEPT:
            one.set() if isinstance(one, threading.Event) else None
        KEPT.clear()


def test_a_program_of_tensors_is_shared() -> None:
    with fit_for_forks():
        model = torch.nn.Linear(4, 4)
        with tempfile.TemporaryFile() as file:
            file.write(b"closed again")
        model(torch.ones(4)).sum()
