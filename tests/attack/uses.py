"""Uses of a program that its own calls do not show: what a safe mend must not change, either.

Each of `USES` loads original and mended program anew, uses them in one way and notes what every call shows, as `differ.py`
does; nothing of the worker is known here. A scene ends at the first call that torch itself refuses in the original: there is nothing to compare.
"""

from __future__ import annotations

import copy
import gc
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import differ

Scene = Callable[["Program"], Iterator[dict[str, Any]]]
LEAST, MOST = -1, 1  # which end of a dtype


class MadeError(Exception):
    """Raised where a use makes something fail."""


@dataclass
class Program:
    """One loaded program and what its calls have shown."""

    path: str
    text: str
    original: str
    seed: int
    space: dict[str, Any]
    subject: Any
    own: list[Any]
    records: differ.Records = field(default_factory=differ.Records)
    made: int = 0

    @classmethod
    def loaded(cls, path: str, text: str, original: str, seed: int) -> Program:
        """The program as it is loaded; parameters are the same each time. `original` is what it was mended from, or itself."""
        import random

        import torch

        torch.manual_seed(0)
        random.seed(0)
        space = differ.load(path, text)
        subject, own = space["graphmend_entry"]()
        return cls(path, text, original, seed, space, subject, own if isinstance(own, list) else [own])

    def again(self) -> Program:
        """A second program of the same text."""
        return Program.loaded(self.path, self.text, self.original, self.seed)

    def call(self, index: int = 0, asked: str = "plain", change: Any = None, run: Any = None, **more: Any) -> Any:
        """What one of the program's own calls shows, `change` made of each tensor that it is given."""
        args, kwargs = differ.made(self.own[index % len(self.own)], "given", "plain", asked, 0, change)
        self.made += 1
        words = f"{self.made} given plain {asked}"
        call = (words, args, kwargs)
        return differ.observed(
            self.space,
            self.subject,
            self.subject if run is None else run,
            self.records,
            call,
            self.seed + self.made,
            **more,
        )

    @property
    def modules(self) -> list[Any]:
        """The modules below the subject, and those in the program's names."""
        import torch

        roots = [self.subject, *self.space.values()]
        found = [part for one in roots if isinstance(one, torch.nn.Module) for part in one.modules()]
        return [one for one in dict.fromkeys(found) if one is not self.subject]

    @property
    def roots(self) -> list[Any]:
        """The subject and the names of the program, where they are modules."""
        import torch

        found = [one for one in (self.subject, *self.space.values()) if isinstance(one, torch.nn.Module)]
        return list(dict.fromkeys(found))


def cast(dtype: str) -> Scene:
    """Everything of the program in another dtype: parameters, buffers and inputs."""

    def scene(program: Program) -> Iterator[dict[str, Any]]:
        import torch

        wanted = getattr(torch, dtype)
        for one in program.roots:
            one.to(wanted)
        for asked in ("plain", "leaf", "train"):
            for index in range(len(program.own)):
                yield program.call(index, asked, lambda t: t.to(wanted) if t.is_floating_point() else t)

    return scene


def whole(dtype: str, end: int) -> Scene:
    """Whole numbers in another dtype, and one of them at its end."""

    def scene(program: Program) -> Iterator[dict[str, Any]]:
        import torch

        wanted = getattr(torch, dtype)
        limits = torch.iinfo(wanted)

        def as_it_is(t: Any) -> Any:
            return t if t.is_floating_point() or t.dtype == torch.bool else t.to(wanted)

        def at_the_end(t: Any) -> Any:
            t = as_it_is(t).clone()
            if t.dtype == wanted and t.numel():
                t.reshape(-1)[0] = limits.max if end == MOST else limits.min
            return t

        for index in range(len(program.own)):
            yield program.call(index, "plain", as_it_is)
            yield program.call(index, "plain", at_the_end)

    return scene


def hooked(program: Program) -> Iterator[dict[str, Any]]:
    """Hooks on every module note that it ran, and one of them changes what it gives."""
    import torch

    seen: list[Any] = []
    modules = program.modules
    for number, one in enumerate(modules):
        name = f"{number} {type(one).__name__}"
        one.register_forward_pre_hook(
            lambda _module, args, name=name: seen.append((name, "before", differ.taken(args)))
        )
        one.register_forward_hook(
            lambda _module, _args, out, name=name: seen.append((name, "behind", differ.taken(out)))
        )
    if modules:
        modules[-1].register_forward_hook(
            lambda _module, _args, out: out * 2 if isinstance(out, torch.Tensor) and out.is_floating_point() else None
        )
    for asked in ("plain", "leaf"):
        for index in range(len(program.own)):
            seen.clear()
            yield {**program.call(index, asked), "hooks": [list(each) for each in seen]}


def as_errors(program: Program) -> Iterator[dict[str, Any]]:
    """Warnings raise; those of files that another run of this process left open come before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
    for index in range(len(program.own)):
        yield program.call(index, said="error")
        yield program.call(index)


def listened(program: Program) -> Iterator[dict[str, Any]]:
    """A handler and a stream note what the program's state is when something is said."""
    seen: list[Any] = []

    class Listening(io.StringIO):
        def write(self, text: str) -> int:
            if "\n" in text:  # in how many pieces a line comes is nobody's business
                seen.append((text, differ.state_of(program.space, program.subject)))
            return super().write(text)

    class Handler(differ.Records):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((record.getMessage(), differ.state_of(program.space, program.subject)))
            super().emit(record)

    logging.getLogger().handlers = [Handler()]
    for index in range(len(program.own)):
        for _ in range(2):
            seen.clear()
            got = program.call(index, out=Listening())
            yield {**got, "order": [one for one, _ in seen if one.strip()], "at": [dict(one) for _, one in seen]}


def raising(program: Program) -> Iterator[dict[str, Any]]:
    """Each module and function of the program that a call enters is made to raise, the second time that it is called."""
    import types

    counts: dict[str, int] = {}

    def failing(name: str, function: Any) -> Any:
        def failed(*args: Any, **kwargs: Any) -> Any:
            counts[name] = counts.get(name, 0) + 1
            if counts[name] == 2:
                raise MadeError(name)
            return function(*args, **kwargs)

        return failed

    for number, one in enumerate(program.modules):
        one.forward = failing(f"{number} {type(one).__name__}", one.forward)
    for name in program.original.split("def ")[1:]:
        name = name.split("(")[0].strip()
        one = program.space.get(name)
        if isinstance(one, types.FunctionType) and one is not program.subject and name != "graphmend_entry":
            program.space[name] = failing(name, one)
    for index in (*range(len(program.own)), *range(len(program.own))):
        yield program.call(index)
        yield program.call(index, "leaf")


def shared(program: Program) -> Iterator[dict[str, Any]]:
    """Two programs with the same parameters and buffers are called in turns."""
    import torch

    other = program.again()
    if isinstance(program.subject, torch.nn.Module):
        for one, two in zip(program.subject.modules(), other.subject.modules(), strict=True):
            for part in ("_parameters", "_buffers"):
                vars(two)[part].update({name: vars(one)[part][name] for name in vars(two)[part]})
    for index in range(len(program.own)):
        for one in (program, other, program):
            yield one.call(index)
            yield one.call(index, "leaf")


def twin(program: Program) -> Iterator[dict[str, Any]]:
    """A second program of the same text beside the first: neither shows in the other."""
    other = program.again()
    for index in range(len(program.own)):
        yield program.call(index)
        yield other.call(index)
        yield program.call(index, "leaf")


def between(what: str, asked: str = "plain") -> Scene:
    """Inputs, results or buffers change in place between the call and its backward pass."""

    def scene(program: Program) -> Iterator[dict[str, Any]]:
        import torch

        def change(value: Any, given: list[Any]) -> None:
            changed = {
                "inputs": differ.tensors(given), "results": differ.tensors(value),
                "buffers": [one for root in program.roots for one in root.buffers()],
            }[what]  # fmt: skip
            with torch.no_grad():
                for one in changed:
                    if (one.is_floating_point() and not one.is_leaf) or not one.requires_grad:
                        one.logical_not_() if one.dtype == torch.bool else one.mul_(2)

        for index in range(len(program.own)):
            yield program.call(index, asked, between=change)

    return scene


def modes(program: Program) -> Iterator[dict[str, Any]]:
    """Without gradients, in inference mode, while training, and under autocast."""
    import torch

    def cast_down(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return program.subject(*args, **kwargs)

    for index in range(len(program.own)):
        for asked in ("no_grad", "inference", "train", "leaf", "no_grad"):
            yield program.call(index, asked)
        yield program.call(index, run=cast_down)
        yield program.call(index, "leaf", run=cast_down)


def laid_out(how: str) -> Scene:
    """Every input is laid out otherwise, or has other sizes."""

    def change(t: Any) -> Any:
        import torch

        if not t.dim():
            return t
        if how == "transposed":
            return t.transpose(0, -1).contiguous().transpose(0, -1)
        if how == "channels last":
            return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t
        if how == "expanded":
            return t[:1].expand_as(t)
        return {"none": t[:0], "one": t[:1], "more": torch.cat([t, t, t[:1]])}[how].clone()

    def scene(program: Program) -> Iterator[dict[str, Any]]:
        for index in range(len(program.own)):
            yield program.call(index, "plain", change)
            if how != "expanded":
                yield program.call(index, "leaf", change)

    return scene


def saved(program: Program) -> Iterator[dict[str, Any]]:
    """A module that was called is copied, its state loaded into another one, and all are called again."""
    import torch

    yield program.call()
    if not isinstance(program.subject, torch.nn.Module):
        return
    state = copy.deepcopy(program.subject.state_dict())
    yield {"words": "state dict", "state": {name: differ.taken(one) for name, one in state.items()}}
    kept = program.subject
    program.subject = copy.deepcopy(kept)
    yield program.call(1)
    program.subject = kept
    yield program.call(1)
    other = program.again()
    other.subject.load_state_dict(state)
    yield other.call()
    yield other.call(1, "leaf")


def stepped(program: Program) -> Iterator[dict[str, Any]]:
    """Three steps of SGD with momentum and weight decay."""
    import torch

    parameters = [one for root in program.roots for one in root.parameters()]
    if not parameters:
        return
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1)
    for index in range(3):
        yield program.call(index, "train")
        optimizer.step()


def resized(*, compiled: bool) -> Scene:
    """Other sizes among the calls; compiled with dynamic=True."""

    def scene(program: Program) -> Iterator[dict[str, Any]]:
        import torch

        subject = torch.compile(program.subject, backend="eager", dynamic=True) if compiled else program.subject
        for how in (None, lambda t: torch.cat([t, t]) if t.dim() else t, None):
            for index in range(len(program.own)):
                yield program.call(index, "plain", how, subject)

    return scene


USES: dict[str, Scene] = {
    **{f"cast to {dtype}": cast(dtype) for dtype in ("bfloat16", "float16", "float64")},
    **{
        f"{name} end of {dtype}": whole(dtype, end)
        for dtype in ("uint8", "int8", "int32", "int64")
        for name, end in (("lower", LEAST), ("upper", MOST))
    },
    "hooks": hooked,
    "warnings as errors": as_errors,
    "listeners": listened,
    "callees that raise": raising,
    "shared state": shared,
    "a twin": twin,
    **{
        f"{what} changed before the backward pass{', with gradients' * (asked == 'inner')}": between(what, asked)
        for what in ("inputs", "results", "buffers")
        for asked in ("inner", "plain")
    },
    "modes": modes,
    **{
        f"inputs {how}": laid_out(how)
        for how in ("transposed", "channels last", "expanded", "none", "one", "more")
    },
    "copies": saved,
    "steps": stepped,
}  # fmt: skip
COMPILED: dict[str, Scene] = {"dynamic=True": resized(compiled=True)}
UNCOMPILED: dict[str, Scene] = {"dynamic=True": resized(compiled=False)}
"""The same uses, uncompiled: a mended program that does what the original does there is right, whatever torch.compile makes of the original."""
THROUGHOUT = ("inputs changed before the backward pass, with gradients",)
"""Uses that a program has in all calls or in none: where it refuses one, as on one side of a branch, nobody makes them."""
ROUNDED = ("transposed", "channels last", "expanded", "more")
"""Uses in which elements may be rounded otherwise than in vectors."""


def seen(scene: Scene, path: str, text: str, original: str, seed: int) -> list[dict[str, Any]]:
    """What a use of a program shows, call by call; the last says what the use itself raised, if anything."""
    import torch

    logger = logging.getLogger()
    kept = logger.handlers, logger.level
    found: list[dict[str, Any]] = []
    try:
        program = Program.loaded(path, text, original, seed)
        logger.handlers = [program.records]
        logger.setLevel(logging.INFO)
        for one in scene(program):
            found.append(one)
            if _is_refused(one):
                break
    except Exception as error:
        found.append({"words": "the use", "error": f"{type(error).__name__}: ..."})
    finally:
        logger.handlers = kept[0]
        logger.setLevel(kept[1])
        torch._dynamo.reset()
    return found


def _is_refused(one: dict[str, Any]) -> bool:
    error = one.get("error", "")
    kind = error.split(":")[0]
    return error.endswith(": ...") and kind != MadeError.__name__ and not kind.endswith("Warning")


def differences(path: str, seed: int, texts: tuple[str, str], compiled: bool = False) -> list[str]:
    """How the mended program differs from the original in the uses, in words."""
    names = USES | COMPILED if compiled else USES
    return [f"{name}: {wrong}" for name in names if (wrong := difference(name, path, seed, texts)) is not None]


def difference(name: str, path: str, seed: int, texts: tuple[str, str]) -> str | None:
    """How the mended program differs from the original in one use, in words; None where it does not."""
    scene = (USES | COMPILED)[name]
    expected = seen(scene, path, texts[0], texts[0], seed)
    got = seen(scene, path, texts[1], texts[0], seed)
    if name in THROUGHOUT and any(map(_is_refused, expected)):
        return None
    exact = not any(word in name for word in ROUNDED)
    wrong = _differing(expected, got, exact)
    if wrong is not None and name in UNCOMPILED:
        return _differing(seen(UNCOMPILED[name], path, texts[0], texts[0], seed), got, exact)
    return wrong


def _differing(expected: list[dict[str, Any]], got: list[dict[str, Any]], exact: bool) -> str | None:
    """How the first call that differs does, in words; None where none does."""
    for number, one in enumerate(expected):
        if _is_refused(one):
            return None
        other = got[number] if number < len(got) else {"words": "nothing"}
        parts = [*differ.PARTS, "hooks", "order", "at"]
        wrong = [part for part in parts if not _alike(part, one, other, exact)]
        if wrong:
            return f"call {one['words']} {wrong[0]}: {differ.brief(one.get(wrong[0]), other.get(wrong[0]))}"
        if _is_refused(other):  # it raised the same, without its text; its calls end there
            return None
    return None


def _alike(part: str, one: dict[str, Any], other: dict[str, Any], exact: bool) -> bool:
    if part not in one and part not in other:
        return True
    if part == "at":
        return len(one[part]) == len(other.get(part, ())) and all(
            differ.alike("state", {"state": before}, {"state": after}, exact)
            for before, after in zip(one[part], other[part], strict=True)
        )
    if part in ("state", "gradients") and not (part in one and part in other):
        return False
    return differ.alike(part, one, other, exact)
