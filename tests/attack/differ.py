"""Runs an original and a mended program over sequences of calls and says how they differ. Knows nothing of the worker.

    python differ.py ORIGINAL MENDED BACKENDS SEED        (BACKENDS: eager,aot_eager,inductor)

Prints one line of JSON: a list of differences, empty when there are none. Compared: outputs and their gradient flags, gradients
of inputs and parameters, buffers and attributes after each call, inputs after each call, printed text, log records,
warnings, exceptions. Outputs bit for bit (NaN equals NaN) uncompiled and compiled with eager; close under the other backends.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SPECIAL = ("randn", "big", "tiny", "nan", "inf", "zeros", "negative", "randn")


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(f"{record.levelname} {record.getMessage()}")


def load(path: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "attacked", "__file__": path}
    exec(compile(Path(path).read_text("utf-8"), path, "exec"), space)
    return space


def inputs(seed: int) -> Iterator[tuple[Any, Any]]:
    import torch

    generator = torch.Generator().manual_seed(seed)
    for number, kind in enumerate(_SPECIAL):
        x = torch.randn(4, generator=generator)
        x = {
            "big": x * 30, "tiny": x * 1e-30, "zeros": x * 0, "negative": -x.abs(), "nan": x.index_fill(0, torch.tensor([number % 4]), float("nan")),
            "inf": x.index_fill(0, torch.tensor([1]), float("inf")),
        }.get(kind, x)  # fmt: skip
        yield x.requires_grad_(number % 2 == 0), torch.rand(4, generator=generator) > 0.5


def observe(path: str, backend: str | None, seed: int) -> list[dict[str, Any]]:
    """What each call of the sequence shows, as plain data and tensors."""
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
    space = load(path)
    model, _ = space["graphmend_entry"]()
    run = model if backend is None else torch.compile(model, backend=backend)
    records = _Records()
    logger = logging.getLogger("attacked")
    logger.handlers, logger.propagate = [records], False
    seen = []
    for x, mask in inputs(seed):
        model.zero_grad()
        records.seen = []
        out = io.StringIO()
        got: dict[str, Any] = {}
        with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                value = run(x, mask)
                parts = value if isinstance(value, tuple) else (value,)
                got["outputs"] = [part.detach().clone() for part in parts]
                got["flags"] = [part.requires_grad for part in parts]
                total = sum(part.sum() for part in parts)
                if total.requires_grad:
                    total.backward()
            except Exception as error:
                got["error"] = (
                    f"{type(error).__name__}: {error}"
                    if not type(error).__module__.startswith("torch._dynamo")
                    else f"dynamo {error}"
                )
        got["gradients"] = {name: one.grad for name, one in (("x", x), *model.named_parameters())}
        got["gradients"] = {name: None if one is None else one.clone() for name, one in got["gradients"].items()}
        got["state"] = {name: one.clone() for name, one in model.named_buffers()} | {
            "x": x.detach().clone(),
            "mask": mask.clone(),
        }
        got["attributes"] = [
            model.steps,
            None if model.last is None else model.last.detach().clone(),
            list(space["NOTES"]),
        ]
        got["text"] = out.getvalue()
        got["records"] = list(records.seen)
        got["warnings"] = [str(one.message) for one in warned if str(one.message) == "odd"]
        seen.append(got)
    return seen


def same(one: Any, other: Any, exact: bool) -> bool:
    """Whether two observed values are equal."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if exact:
            return (
                bool(((one == other) | (torch.isnan(one) & torch.isnan(other))).all())
                if one.is_floating_point()
                else torch.equal(one, other)
            )
        return torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], exact) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, exact) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def differences(original: str, mended: str, backends: list[str], seed: int) -> list[str]:
    """How the mended program differs from the original uncompiled, in words."""
    expected = observe(original, None, seed)
    found: list[str] = []
    for backend in (None, *backends):
        got = observe(mended, backend, seed)
        alike = None
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            for part in (
                "error",
                "outputs",
                "flags",
                "state",
                "attributes",
                "text",
                "records",
                "warnings",
                "gradients",
            ):
                exact = backend in (None, "eager") and part != "gradients"
                if backend is None and part == "gradients":
                    exact = True
                if same(one.get(part), other.get(part), exact):
                    continue
                if backend is not None:  # is it the compiler's doing? then the original has it as well
                    alike = alike or observe(original, backend, seed)
                    if same(alike[number].get(part), other.get(part), exact):
                        continue
                    if not same(alike[number].get(part), one.get(part), exact):
                        continue  # compiling changes this very part of the original: nothing can be said
                found.append(
                    f"{backend or 'uncompiled'} call {number} ({_SPECIAL[number]}) {part}: {_brief(one.get(part))} became {_brief(other.get(part))}"
                )
    return found


def _brief(value: Any) -> str:
    return " ".join(repr(value).split())[:200]


if __name__ == "__main__":
    told = sys.argv[3].split(",")
    print(json.dumps(differences(sys.argv[1], sys.argv[2], [one for one in told if one], int(sys.argv[4]))))
