"""Runs an original and a mended program over sequences of calls and says how they differ. Knows nothing of the worker.

    python differ.py ORIGINAL MENDED BACKENDS SEED        (BACKENDS: eager,aot_eager,inductor)

Prints one line of JSON: a list of differences, empty when there are none. The calls are made from the program's own: other
values, NaN, inf and signed zeros, other sizes, dtypes and strides, one tensor given twice, with and without gradients,
training and not, the same call again. Compared after each: outputs and their gradient flags, gradients of inputs and
parameters, parameters, buffers, attributes and globals, the inputs, random state, printed text, log records, warnings,
exceptions. Bit for bit uncompiled (NaN equals NaN) and compiled with eager; close under the other backends.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

VALUES = ("given", "normal", "big", "tiny", "nan", "inf", "-inf", "zeros", "-zeros", "negative", "positive", "huge", "equal", "ties")  # fmt: skip
LOOKS = ("grown", "empty", "double", "half", "strided", "twice")
ASKED = ("leaf", "inner", "no_grad", "inference", "train")
LENGTH = 12
_OF_A_GRAPH = "Call using an FX-traced Module"
PARTS = ("error", "outputs", "state", "inputs", "gradients", "random", "text", "records", "warnings")
Call = tuple[str, list[Any], dict[str, Any]]


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith("torch"):
            self.seen.append(f"{record.name} {record.levelname} {record.getMessage()}")


def load(path: str, text: str | None = None) -> dict[str, Any]:
    """The program's globals; `text` stands for the file's."""
    text = Path(path).read_text("utf-8") if text is None else text
    space: dict[str, Any] = {"__name__": "attacked", "__file__": path, "__text__": text}
    exec(compile(text, path, "exec"), space)
    return space


def sequence(
    own: Sequence[Any], seed: int, accepted: Callable[[str], bool] = lambda _: True, asked: str = "plain"
) -> Iterator[Call]:
    """The calls of a sequence, each with the words that say how it is made: ``number value look asked``.

    The program's own calls come first; with something `asked` they are all.
    """
    chance = random.Random(seed)
    for number, one in enumerate(own):
        yield f"own {number} plain {asked}", *made(one, "given", "plain", asked, 0)
    if asked != "plain":
        return
    for number in range(LENGTH):
        base = chance.randrange(len(own))
        value = "given" if number in (0, LENGTH - 1) else chance.choice(VALUES)
        look = chance.choice(LOOKS) if chance.random() < 0.25 else "plain"
        asked = chance.choice(ASKED) if chance.random() < 0.6 else "plain"
        if number == LENGTH - 1:
            look = asked = "plain"
        words = f"{number} {value} {look} {asked}"
        at = chance.randrange(1 << 30)
        if accepted(words):
            yield words, *made(own[base], value, look, asked, at)


def made(
    own: Any, value: str, look: str, asked: str, seed: int, change: Callable[[Any], Any] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call made from one of the program's own; `change` is applied to each tensor."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    known: dict[int, Any] = {}

    def tensor(one: Any) -> Any:
        if id(one) in known:
            return known[id(one)]
        new = _looking(_valued(one.detach(), value, generator), look)
        new = new if change is None else change(new)
        if (asked in ("leaf", "inner") and new.is_floating_point()) or (
            asked == "plain" and one.requires_grad and new.is_floating_point()
        ):
            new.requires_grad_()
        known[id(one)] = new
        return new

    def walk(one: Any) -> Any:
        if isinstance(one, torch.nn.Parameter) or not isinstance(one, (torch.Tensor, list, tuple, dict)):
            return one
        if isinstance(one, torch.Tensor):
            return tensor(one)
        if isinstance(one, dict):
            return {key: walk(part) for key, part in one.items()}
        return type(one)(*map(walk, one)) if hasattr(one, "_fields") else type(one)(map(walk, one))

    args, kwargs = ([], dict(own)) if isinstance(own, Mapping) else (list(own), {})
    args, kwargs = walk(args), walk(kwargs)
    if look == "twice":
        for later in range(1, len(args)):
            one, other = args[0], args[later]
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and one.shape == other.shape and one.dtype == other.dtype:  # fmt: skip
                args[later] = one
    return args, kwargs


def _valued(one: Any, value: str, generator: Any) -> Any:
    import torch

    if value == "given" or not one.numel():
        return one.clone()
    if one.dtype == torch.bool:
        kinds = {"zeros": torch.zeros_like(one), "positive": torch.ones_like(one)}
        return kinds.get(value, torch.rand(one.shape, generator=generator) > 0.5)
    if not one.is_floating_point():
        order = torch.randperm(one.numel(), generator=generator)
        kinds = {
            "zeros": torch.zeros_like(one),
            "equal": torch.full_like(one, int(one.reshape(-1)[0])),
            "negative": -one,
        }
        return kinds.get(value, one.reshape(-1)[order].reshape(one.shape))
    noise = torch.randn(one.shape, generator=generator).to(one.dtype)
    spot = torch.randint(one.numel(), (1,), generator=generator)

    def poked(number: float) -> Any:
        return noise.reshape(-1).index_fill(0, spot, number).reshape(one.shape)

    changes: dict[str, Callable[[], Any]] = {
        "big": lambda: noise * 30, "tiny": lambda: noise * 1e-30, "nan": lambda: poked(float("nan")), "inf": lambda: poked(float("inf")),
        "-inf": lambda: poked(float("-inf")), "zeros": lambda: noise * 0 + 0.0, "-zeros": lambda: -torch.zeros_like(noise),
        "negative": lambda: -noise.abs(), "positive": lambda: noise.abs() + 0.1, "huge": lambda: noise.sign() * torch.finfo(one.dtype).max / 2,
        "equal": lambda: torch.full_like(noise, 1.5), "ties": lambda: noise.round(),
    }  # fmt: skip
    return changes.get(value, lambda: noise)()


def _looking(one: Any, look: str) -> Any:
    import torch

    if look == "double":
        return one.double() if one.is_floating_point() else one
    if look == "half":
        return one.half() if one.is_floating_point() else one
    if not one.dim():
        return one
    if look == "grown":
        return torch.cat([one, one])
    if look == "empty":
        return one[:0].clone()
    if look == "strided":
        return torch.stack([one, one], -1)[..., 0]
    return one


def observe(
    path: str,
    backend: str | None,
    seed: int,
    text: str | None = None,
    accepted: Callable[[str], bool] = lambda _: True,
    asked: str = "plain",
) -> list[dict[str, Any]]:
    """What each call of the sequence shows, as plain data and tensors."""
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
    random.seed(0)
    space = load(path, text)
    subject, own = space["graphmend_entry"]()
    own = own if isinstance(own, list) else [own]
    own = own + space["attack_calls"]() if "attack_calls" in space else own
    # inductor leaves out the rounding to float16 between operations of one kernel, of which a program in one graph has more
    options = {"emulate_precision_casts": True} if backend == "inductor" else None
    run = subject if backend is None else torch.compile(subject, backend=backend, options=options)
    records, logger = Records(), logging.getLogger()
    kept = logger.handlers, logger.level
    logger.handlers = [records]
    logger.setLevel(logging.INFO)
    try:
        return [
            observed(space, subject, run, records, call, seed + number)
            for number, call in enumerate(sequence(own, seed, accepted, asked))
        ]
    finally:
        logger.handlers = kept[0]
        logger.setLevel(kept[1])


def observed(
    space: dict[str, Any],
    subject: Any,
    run: Any,
    records: Records,
    call: Call,
    seed: int,
    said: str = "always",
    out: io.StringIO | None = None,
    between: Callable[[Any, list[Any]], None] | None = None,
) -> dict[str, Any]:
    """What one call of `run` shows. `said` is the filter for warnings, `out` the stream that text goes to.

    `between` stands between the call and the backward pass; it is given what the call gave and its arguments.
    """
    import torch

    words, args, kwargs = call
    asked = words.split()[-1]
    got: dict[str, Any] = {"words": words}
    parameters = dict(subject.named_parameters()) if isinstance(subject, torch.nn.Module) else {}
    leaves = {
        **{f"input {number}": one for number, one in enumerate(args)},
        **{f"input {name}": one for name, one in kwargs.items()},
    }
    leaves = {name: one for name, one in leaves.items() if isinstance(one, torch.Tensor) and one.requires_grad}
    for one in parameters.values():
        one.grad = None
    given = [
        one * 1 if asked == "inner" and isinstance(one, torch.Tensor) and one.requires_grad else one for one in args
    ]
    if isinstance(subject, torch.nn.Module):
        subject.train(asked == "train")
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    records.seen = []
    out = io.StringIO() if out is None else out
    mode = {"no_grad": torch.no_grad, "inference": torch.inference_mode}.get(asked, contextlib.nullcontext)
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        warnings.catch_warnings(record=True) as warned,
        mode(),
    ):
        warnings.simplefilter(said)  # type: ignore[arg-type]
        try:
            value = run(*given, **kwargs)
            got["outputs"] = taken(value)
            if between is not None:
                between(value, given)
            if asked not in ("no_grad", "inference"):
                _backward(value, seed)
        except Exception as error:
            words_of = str(error).split("\n\nfrom user code")[0].split("\n\nSet TORCHDYNAMO")[0]
            got["error"] = f"{type(error).__name__}: {words_of if _is_own(error, space) else '...'}"
    got["gradients"] = {
        name: None if one.grad is None else one.grad.clone() for name, one in (leaves | parameters).items()
    }
    got["inputs"] = taken([given, kwargs])
    got["state"] = state_of(space, subject)
    got["random"] = [torch.get_rng_state(), repr(random.getstate())]
    got["random"] += [numpy.random.get_state()[1].tobytes()] if numpy else []
    got["text"] = _without_torch(out.getvalue()) if "error" in got else out.getvalue()
    got["records"] = list(records.seen)
    got["warnings"] = [
        str(one.message) for one in warned if one.category is not ResourceWarning and one.filename == space["__file__"]
    ]
    return got


def _without_torch(text: str) -> str:
    """A text without what torch's own eager backend prints beside an exception in a part of a graph (a side of `torch.cond`)."""
    head, told, _ = text.partition(_OF_A_GRAPH)
    return head[: head.rindex("Traceback (most recent call last)")] if told else text


def _is_own(error: BaseException, space: Mapping[str, Any]) -> bool:
    """Whether the program itself raised it, with words that are its own; torch says the same thing in many words."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return False
    file = place.tb_frame.f_code.co_filename
    if Path(file).name == "graphmend_support.py":  # a mended program raises its own exceptions there
        return True
    if file != space["__file__"]:
        return False
    line = space["__text__"].split("\n")[place.tb_lineno - 1].strip()
    return line.startswith(("raise", "assert", "torch._assert"))


def _backward(value: Any, seed: int) -> None:
    import torch

    generator = torch.Generator().manual_seed(seed)
    roots = [one for one in tensors(value) if one.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.randn(one.shape, generator=generator).to(one.dtype) for one in roots])


def tensors(value: Any) -> list[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [one for part in value for one in tensors(part)] if isinstance(value, (list, tuple)) else []


def state_of(space: dict[str, Any], subject: Any) -> dict[str, Any]:
    import torch

    known = (int, float, str, list, dict, set, tuple, torch.Tensor, type(None))
    found = {name: taken(one) for name, one in space.items() if isinstance(one, known) and not name.startswith("__")}
    modules = [(f"global {name}", one) for name, one in space.items() if isinstance(one, torch.nn.Module)]
    if isinstance(subject, torch.nn.Module):
        modules.append(("subject", subject))
    for name, one in modules:
        for path, part in one.named_modules():
            for key, value in (*vars(part).items(), *part._buffers.items(), *part._parameters.items()):
                if isinstance(value, known) and not key.startswith("_"):
                    found[f"{name}.{path}.{key}"] = taken(value)
    return found


def taken(value: Any, depth: int = 0) -> Any:
    """A copy of the value as plain data."""
    import torch

    if isinstance(value, torch.Tensor):
        return (value.detach().clone(), value.requires_grad)
    if depth > 6:
        return "deep"
    if isinstance(value, Mapping):
        return {str(key): taken(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[taken(one, depth + 1) for one in value]]
    return value if isinstance(value, (int, float, str, bool, type(None))) else type(value).__name__


def same(one: Any, other: Any, exact: bool) -> bool:
    """Whether two observed values are equal."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if not one.is_floating_point():
            return torch.equal(one, other)
        if exact:
            return bool(
                (
                    (one == other) & (torch.signbit(one) == torch.signbit(other))
                    | (torch.isnan(one) & torch.isnan(other))
                ).all()
            )
        return torch.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], exact) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b, exact) for a, b in zip(one, other, strict=True))
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


def _same_gradients(one: Any, other: Any, exact: bool) -> bool:
    """Equal up to the sign of a zero; an input may have zeros instead of none."""
    import torch

    if not isinstance(one, dict) or not isinstance(other, dict) or one.keys() != other.keys():
        return False
    for name, old in one.items():
        new = other[name]
        if old is None and new is not None and name.startswith("input"):
            if torch.count_nonzero(new):
                return False
        elif old is None or new is None:
            if old is not new:
                return False
        elif not same(old + 0.0, new + 0.0, exact):
            return False
    return True


def alike(part: str, one: Mapping[str, Any], other: Mapping[str, Any], exact: bool) -> bool:
    """Whether a part of two observed calls is equal."""
    if part == "state":  # a mend may add its own names
        old, new = one[part], other[part]
        return all(name in new and same(value, new[name], exact) for name, value in old.items())
    if part == "error" and part in one and part in other and any(each[part].endswith(": ...") for each in (one, other)):
        return (
            one[part].partition(": ")[0] == other[part].partition(": ")[0]
        )  # one says whose line raised it, the other not
    if part == "gradients":
        return _same_gradients(one.get(part), other.get(part), exact)
    return same(one.get(part), other.get(part), exact)


def accepts(path: str, seed: int, text: str | None = None) -> Callable[[str], bool]:
    """Which calls of the sequence can be judged: none of a look, or asked for what, the original ever refuses."""
    refused = {
        kind
        for one in (*observe(path, None, seed, text), *observe(path, None, seed, text, asked="leaf"))
        if "error" in one
        for kind in one["words"].split()[2:]
        if kind != "plain"
    }
    return lambda words: refused.isdisjoint(words.split()[2:])


def differences(
    original: str, mended: str, backends: Sequence[str], seed: int, texts: tuple[str | None, str | None] = (None, None)
) -> list[str]:
    """How the mended program differs from the original uncompiled, in words. `texts` stand for the files' where given."""
    accepted = accepts(original, seed, texts[0])
    expected = observe(original, None, seed, texts[0], accepted)
    found: list[str] = []
    for backend in (None, *backends):
        got = observe(mended, backend, seed, texts[1], accepted)
        compiled: list[dict[str, Any]] | None = None
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            for part in PARTS:
                exact = backend is None or (backend == "eager" and part != "gradients")
                exact = (
                    exact and "strided" not in one["words"]
                )  # elements one by one are rounded otherwise than in vectors
                if alike(part, one, other, exact):
                    continue
                if backend is not None:  # is it the compiler's doing? then the original has it as well
                    compiled = compiled or observe(original, backend, seed, texts[0], accepted)
                    if alike(part, compiled[number], other, exact) or not alike(part, compiled[number], one, exact):
                        continue  # compiling changes this very part of the original: nothing can be said
                found.append(
                    f"{backend or 'uncompiled'} call {one['words']} {part}: {brief(one.get(part), other.get(part))}"
                )
            if found and len(found) > 8:
                return found
    return found


def brief(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        names = [name for name in one if not same(one.get(name), other.get(name), True)]
        if names:
            one, other = {names[0]: one.get(names[0])}, {names[0]: other.get(names[0])}
    return f"{' '.join(repr(one).split())[:160]} became {' '.join(repr(other).split())[:160]}"


if __name__ == "__main__":
    told = sys.argv[3].split(",")
    print(json.dumps(differences(sys.argv[1], sys.argv[2], [one for one in told if one], int(sys.argv[4]))))
