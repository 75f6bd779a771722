"""What goes wrong in the user's program, as data: one typed failure with the user's line and what to do next.

Standard library only. Knows exceptions, not processes (`isolate` turns deaths of processes into the same data).
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from types import TracebackType

from .places import kind_of
from .wire import FailureData, FailureKind, FailureStage

MESSAGE_LIMIT = 500
DETAIL_LIMIT = 4000

_TRACED = re.compile(r"""got (\w+)\((['"])(.*)\2\)""")  # an operator's own error, in what Dynamo says of it
_MEMORY_WORDS = ("can't allocate memory", "not enough memory", "out of memory", "Cannot allocate memory")
_TWO_DEVICES = "tensors to be on the same device"
_DEVICES = (
    "GraphMend runs the program on CUDA where there is a device. Make its tensors on the device of its inputs "
    "(device=x.device), or run it on the CPU (setting graphmend.device, or --device cpu)."
)
_REMEDIES: dict[FailureKind, str] = {
    "syntax": "Correct the syntax error.",
    "import": "Install the missing package in this interpreter, or choose another (setting graphmend.interpreter).",
    "timeout": "Make the entry smaller, or raise the time limit (setting graphmend.worker.timeout).",
    "memory": "Make the entry smaller, or raise the memory limit (setting graphmend.worker.memory).",
    "exit": "Remove the call that ends the process from the code that the entry runs.",
    "crash": "Run the entry in this interpreter without GraphMend to see the crash.",
    "device": "Choose another device (setting graphmend.device).",
    "no-torch": "Install torch in this interpreter, or choose another (setting graphmend.interpreter).",
    "old-torch": "Install torch 2.9 or newer in this interpreter, or choose another (setting graphmend.interpreter).",
    "bad-entry": "Return (callable, args) from the entry; args is a tuple, a dict, or a list of those.",
    "cancelled": "Run the check again.",
    "protocol": "Restart the server. Editor and worker must come from one installation.",
}
_RAISED_REMEDIES: dict[FailureStage, str] = {
    "load": "Correct the error that importing the file raises.",
    "entry": "Correct the error that the entry raises.",
    "call": "Correct the error that the program raises, or the arguments that the entry gives it.",
    "backward": "Correct the error that the backward pass raises, or check in eval mode only.",
}


class FailedError(Exception):
    """A failure on its way up to where it becomes a value."""

    def __init__(self, failure: FailureData) -> None:
        super().__init__(failure["message"])
        self.failure = failure

    def __reduce__(self) -> tuple[type[FailedError], tuple[FailureData]]:
        return FailedError, (self.failure,)


def failure(
    stage: FailureStage,
    kind: FailureKind,
    message: str,
    remedy: str | None = None,
    path: str | None = None,
    line: int | None = None,
    detail: str = "",
) -> FailureData:
    """A failure; without a `remedy` the usual one of its kind."""
    if remedy is None:
        remedy = _REMEDIES.get(kind) or _RAISED_REMEDIES.get(stage, "Correct the error.")
    if len(message) > MESSAGE_LIMIT:
        message = message[: MESSAGE_LIMIT - 2] + " …"
    return FailureData(
        stage=stage, kind=kind, message=message, remedy=remedy, path=path, line=line, detail=detail[-DETAIL_LIMIT:]
    )


def failure_of(error: BaseException, stage: FailureStage) -> FailureData:
    """What an exception of the user's program says, with the innermost line of the user's own code."""
    if isinstance(error, FailedError):
        return error.failure
    path, line = user_place(error.__traceback__)
    if path is None or kind_of(path) != "code":
        path, line = _traced_place(error) or (path, line)
    detail = tidy_traceback(error)
    said = said_by(error)
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        return failure(stage, "exit", f"The program ended itself with sys.exit({code}).", None, path, line, detail)
    if isinstance(error, KeyboardInterrupt):
        return failure(stage, "exit", "The program raised KeyboardInterrupt.", None, path, line, detail)
    if is_memory_error(error):
        return failure(stage, "memory", f"The program ran out of memory: {said}", None, path, line, detail)
    if stage == "load" and isinstance(error, SyntaxError):
        message = f"{type(error).__name__}: {error.msg}"
        return failure(stage, "syntax", message, None, error.filename or path, error.lineno or line, detail)
    if stage == "load" and isinstance(error, ImportError):
        return failure(stage, "import", said, _import_remedy(error), path, line, detail)
    remedy = _DEVICES if _TWO_DEVICES in said and "cuda" in said else None
    return failure(stage, "exception", said, remedy, path, line, detail)


def is_memory_error(error: BaseException) -> bool:
    """Whether the exception says that memory ran out, on the host or on the device."""
    if isinstance(error, MemoryError) or any(cls.__name__ == "OutOfMemoryError" for cls in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _MEMORY_WORDS)


def user_place(trace: TracebackType | None) -> tuple[str | None, int | None]:
    """File and line of the innermost frame of the user's code, else of the innermost that is not the worker's."""
    fallback: tuple[str | None, int | None] = (None, None)
    place: tuple[str | None, int | None] = (None, None)
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        kind = kind_of(file)
        if kind == "code" and not file.startswith("<"):
            place = (file, line)
        elif kind not in ("worker", "stdlib"):
            fallback = (file, line)
    return place if place[0] is not None else fallback


def _traced_place(error: BaseException) -> tuple[str, int] | None:
    """Where in the user's code Dynamo was when the error arose while it traced."""
    stack = getattr(error, "real_stack", None) or ()
    places = [(item.filename, item.lineno) for item in stack if item.lineno and kind_of(item.filename) == "code"]
    return next((place for place in reversed(places) if not place[0].startswith("<")), None)


def tidy_traceback(error: BaseException) -> str:
    """The traceback as text without the frames of the worker and of torch.compile's own machinery."""
    try:
        report = traceback.TracebackException.from_exception(error, limit=-40, compact=True)
    except Exception as broken:  # an exception whose own attributes raise
        return f"{type(error).__name__} (its traceback cannot be read: {type(broken).__name__})"
    link: traceback.TracebackException | None = report
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        kept = [item for item in link.stack if not is_machinery(item.filename)]
        link.stack = traceback.StackSummary.from_list(kept)
        link = link.__cause__ or link.__context__
    try:
        return "".join(report.format())[-DETAIL_LIMIT:]
    except Exception as broken:
        return f"{type(error).__name__} (its text cannot be read: {type(broken).__name__})"


def is_machinery(path: str) -> bool:
    """Whether a frame of this file is plumbing that says nothing to the user."""
    parts = path.replace("\\", "/")
    return kind_of(path) == "worker" or "/torch/_dynamo/" in parts or parts.startswith("<frozen importlib")


def names(words: Sequence[str], limit: int = 8) -> str:
    """Names for a message: ``a, b and c``."""
    shown = [*words[:limit], *(["more"] if len(words) > limit else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def said_by(error: BaseException) -> str:
    """An exception's type and the first line of its text; of one that an operator raised in Dynamo, the operator's own."""
    try:
        text = str(error).strip()
    except Exception:
        text = ""
    traced = _TRACED.search(text) if type(error).__name__ == "TorchRuntimeError" else None
    if traced is not None:
        return f"{traced[1]}: {traced[3]}"
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _import_remedy(error: ImportError) -> str | None:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.split(".")[0]
        return f"Install {package} in this interpreter, or choose another (setting graphmend.interpreter)."
    return "Correct the import, or install the version of the package that the file needs."
