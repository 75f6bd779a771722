"""What a kept result is an answer to: the request without what is checked by content, and all of this machine that counts.

Not part of it: limits (only complete results are kept), the texts and files of the program (they are what it stands on).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.config import WorkerConfig
from graphmend_lsp.engine.interpreter import WORKER_SCRIPT, find_python

VERSION = 2  # of what is kept and how it is checked
_APART = frozenset({"texts", "limits", "standing", "sources", "live"})
_VARIABLES = (
    "TORCH", "PYTORCH", "CUDA", "NVIDIA", "TRITON", "NCCL", "XLA", "OMP_", "MKL_", "KMP_", "PYTHON", "HF_", "HUGGINGFACE",
    "TRANSFORMERS", "DIFFUSERS", "ACCELERATE", "USE_", "LD_", "DYLD_", "LANG", "LC_", "TZ", "GRAPHMEND_WORKER",
    "ROCR_", "HIP_", "HSA_", "AOT_", "INDUCTOR", "DYNAMO", "RANK", "WORLD_SIZE", "LOCAL_RANK", "XDG_CACHE", "HOME",
)  # fmt: skip
_DEVICES = ("nvidia", "kfd", "dxg")


@dataclass(frozen=True, slots=True)
class Question:
    """`key` names it; `texts` are the unsaved texts that the answer is wanted for."""

    key: str
    texts: Mapping[str, str]


def question_of(method: str, params: Mapping[str, Any], config: WorkerConfig) -> Question | None:
    """The question that a request to the worker is; None when the answer must not be kept.

    That is so for times, and for a worker that is started by a command: it may be on another machine, whose files are not
    these.
    """
    if method == "measure" or config.command or config.path_map or params.get("sources"):
        return None
    texts: Mapping[str, str] = params["texts"]
    asked = {name: value for name, value in params.items() if name not in _APART}
    if "candidates" in asked:
        asked["candidates"] = [
            {**one, "texts": {path: text for path, text in one["texts"].items() if texts.get(path) != text}}
            for one in asked["candidates"]
        ]
    python = find_python(config.python, config.cwd)
    environ = {**os.environ, **config.env}
    whole = {
        "version": VERSION,
        "method": method,
        "asked": asked,
        "worker": _worker(),
        "python": [python, python and os.path.realpath(python)],
        "cwd": os.path.abspath(config.cwd or os.getcwd()),
        "environ": {name: value for name, value in sorted(environ.items()) if name.startswith(_VARIABLES)},
        "machine": _machine(),
    }
    return Question(hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:40], dict(texts))


@functools.lru_cache(maxsize=1)
def _worker() -> str:
    """The content of the worker's own files."""
    digest = hashlib.sha256()
    for path in sorted(Path(WORKER_SCRIPT).parent.rglob("*.py")):
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _machine() -> list[str]:
    """The kind of processor, the accelerators and their driver: what ``auto`` chooses from, and what bits depend on."""
    found = [platform.system(), platform.machine(), _processor()]
    with contextlib.suppress(OSError):
        found += sorted(name for name in os.listdir("/dev") if name.startswith(_DEVICES))
    return [*found, _first_line("/proc/driver/nvidia/version")]


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""
