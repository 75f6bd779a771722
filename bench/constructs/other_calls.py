"""An original and a mended program over calls that the verdict did not see: do they differ? Shares nothing with the worker.

    python other_calls.py < PAIRS.json

PAIRS is a list of [path of the original, path of the mended program]; prints a list of differences for each. Compared after each call,
uncompiled and compiled with aot_eager: outputs bit for bit, gradients of inputs (zeros may take the place of none), printed text,
log records, warnings (each shown once for a place, as Python does), exceptions, buffers and parameters, and data of the file's
own globals. A call that does not end within `LIMIT` seconds is the last of its program.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import signal
import sys
import types
import warnings
from pathlib import Path
from typing import Any

LIMIT = 20.0  # seconds for one call
KINDS = ("normal", "zeros", "negative", "large", "tiny", "nan", "infinite", "long", "one", "normal")


def inputs(likes: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Calls of other values and lengths, made from the entry's own arguments."""
    import torch

    generator = torch.Generator().manual_seed(7)
    calls = []
    for number, kind in enumerate(KINDS):
        length = {"long": 7, "one": 1}.get(kind, 4)
        call = []
        for _ in likes:
            x = torch.randn(length, generator=generator)
            x = {
                "zeros": x * 0, "negative": -x.abs(), "large": x * 1e6, "tiny": x * 1e-6,
                "nan": x.index_fill(0, torch.tensor([number % length]), float("nan")),
                "infinite": x.index_fill(0, torch.tensor([0]), float("inf")),
            }.get(kind, x)  # fmt: skip
            call.append(x.requires_grad_(number % 2 == 0))
        calls.append(tuple(call))
    return calls


class _TooLongError(BaseException):
    """A call that does not end: a loop on values, with values that it was not written for."""


def _give_up(_number: int, _frame: object) -> None:
    raise _TooLongError


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(f"{record.levelname} {record.getMessage()}")


def observe(path: str, backend: str | None) -> list[dict[str, Any]]:
    """What each call shows, as plain data and tensors."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        return _observed(path, backend, warned)


def _observed(path: str, backend: str | None, warned: list[Any]) -> list[dict[str, Any]]:
    import numpy
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
    space = types.ModuleType("observed")
    sys.modules["observed"] = space  # dataclasses look their module up
    space.__file__ = str(path)
    exec(compile(Path(path).read_text("utf-8"), "observed.py", "exec"), space.__dict__)
    model, likes = space.__dict__["graphmend_entry"]()
    run = model if backend is None else torch.compile(model, backend=backend)
    records = _Records()
    logger = logging.getLogger("constructs")
    logger.handlers, logger.propagate = [records], False
    seen = []
    for call in inputs(likes):
        torch.manual_seed(1)
        numpy.random.seed(1)
        random.seed(1)
        records.seen = []
        text = io.StringIO()
        got: dict[str, Any] = {}
        del warned[:]
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
            try:
                outputs = run(*call)
                got["outputs"] = plain(outputs)
                parts = [one for one in (outputs if isinstance(outputs, tuple) else (outputs,)) if torch.is_tensor(one)]
                total = sum(one.sum() for one in parts if one.requires_grad)
                if torch.is_tensor(total):
                    total.backward()
            except Exception as error:
                got["error"] = type(
                    getattr(error, "inner_exception", None) or error
                ).__name__  # of a compiled backward pass
            except _TooLongError:
                return [*seen, {"error": "it does not end"}]  # what it left behind depends on the moment
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        got["gradients"] = [None if one.grad is None else one.grad.clone() for one in call]
        got["inputs"] = [one.detach().clone() for one in call]
        got["text"] = text.getvalue()
        got["records"] = list(records.seen)
        got["warnings"] = [
            str(one.message) for one in warned if one.category is UserWarning and "values are" in str(one.message)
        ]
        if isinstance(model, torch.nn.Module):
            got["state"] = plain(model.state_dict())
            got["attributes"] = plain({name: value for name, value in vars(model).items() if name[0] != "_"})
        got["globals"] = plain({
            name: value for name, value in space.__dict__.items()
            if name[0] != "_" and not name.startswith("sub_may_be_caught")  # what Dynamo keeps of the support module
            and isinstance(value, (list, dict, int, types.SimpleNamespace)) and name != "timings"
        })  # fmt: skip
        seen.append(got)
    return seen


def plain(value: Any) -> Any:
    """A copy of a value that later calls do not change."""
    import torch

    if torch.is_tensor(value):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, types.SimpleNamespace):
        return plain(vars(value))
    return value if isinstance(value, (int, float, str, bool)) else type(value).__name__


def same(one: Any, other: Any) -> bool:
    """Whether two observed values are equal, tensors bit for bit with NaN equal to NaN."""
    import torch

    if torch.is_tensor(one) and torch.is_tensor(other):
        alike = one.shape == other.shape and one.dtype == other.dtype
        return alike and bool(torch.equal(one.nan_to_num(1234.5), other.nan_to_num(1234.5))) and bool(torch.equal(one.isnan(), other.isnan()))  # fmt: skip
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    return type(one) is type(other) and (one == other or one != one)


def _filled(old: list[Any], new: list[Any]) -> bool:
    """Whether gradients are the same but for zeros where there was none."""
    return all(same(a, b) or (a is None and not b.count_nonzero()) for a, b in zip(old, new))


def differences(original: str, mended: str) -> list[str]:
    """How the mended program differs from the original, in words; what compiling alone changes is left out."""
    expected = observe(original, None)
    found = []
    for backend in (None, "aot_eager"):
        alike: list[dict[str, Any]] | None = expected if backend is None else None
        for number, (one, other) in enumerate(zip(expected, observe(mended, backend))):
            for part in sorted({*one, *other}):
                if same(one.get(part), other.get(part)) or (part == "gradients" and _filled(one[part], other[part])):
                    continue
                if part not in ("error", "text") and one.get("error") != other.get("error"):
                    continue  # told once, as another exception
                alike = alike or observe(
                    original, backend
                )  # is it the compiler's doing? then the original has it as well
                if backend is not None and not same(one.get(part), alike[number].get(part)):
                    continue
                was, became = (" ".join(repr(seen.get(part)).split())[:150] for seen in (one, other))
                found.append(f"{backend or 'uncompiled'}, {KINDS[number]}, {part}: {was} became {became}")
    return found


def main() -> None:
    """Answer the pairs of standard input."""
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _give_up)
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    print(json.dumps([differences(original, mended) for original, mended in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
