"""From the error that invented inputs raise to inputs that may do better. Pure: messages in, changed inputs out.

Every rule here reads what PyTorch or the program itself says; none knows a model by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from .trial import Trouble
from .values import Drawn, Made

Inputs = dict[str, object]
Guess = Callable[[str], "object | None"]

_LARGEST, _LARGEST_SIDE = 8_000_000, 65_536
_NAMED = re.compile(r"[`'\"*]*\b([a-z_][a-z0-9_]*)\b")
_MAT = re.compile(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
_CHANNELS = re.compile(r"expected input\[([\d, ]*)\] to have (\d+) channels, but got (\d+) channels")
_RANK = re.compile(
    r"[Ee]xpected (?:(\d)D)?.*?(\d)D (?:\(batched\) )?input to \w+, but got input of size: \[([\d, ]*)\]"
)
_NORM_RANK = re.compile(r"expected (?:(\d)D or )?(\d)D(?: or \dD)? input \(got (\d)D input\)")
_RUNNING = re.compile(r"running_mean should contain (\d+) elements not (\d+)")
_NORMALIZED = re.compile(
    r"expected input with shape \[(?:\*|\d+)(?:, \*)?,? ?([\d, ]+)\], but got input of size ?\[([\d, ]+)\]"
)
_INPUT_SIZE = re.compile(r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)")
_TOKENS = re.compile(r"tokens: (\d+), features:? (\d+)|[Gg]ot (\d+) \w+ tokens in the text but (\d+) tokens from")
_TOKENS_OF = re.compile(
    r"number of (image|video|audio) tokens is (\d+) while the number of \w+ given to the model is (\d+)"
)
_SIDES = (256, 512, 640, 448)
_FOUND = re.compile(r"(?:got|found|but is|received|given|not) \D{0,40}?(\d+)")
_SIZES = re.compile(
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
)
_UNPACK = re.compile(r"(?:too many|not enough) values to unpack \(expected (\d+)")
_PICTURE = re.compile(r"\((\d+)\*(\d+)\)[^(]*\((\d+)\*(\d+)\)")
_MISSING = re.compile(r"missing \d+ required (?:positional |keyword-only )?arguments?: (.*)")
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
_WANTS_IDS = re.compile(
    r"indices.*(Long|Int)|scalar types?:? Long|to be (of type )?(Long|int64)|must be (long|byte|int)|tensors used as indices"
)
_WANTS_FLOATS = re.compile(
    r"(Float|Half|floating)|not implemented for '(Long|Int|Bool)'|mat1 and mat2 must have the same dtype|got (Long|long|int64)"
)
_WORDS_OF_ABSENCE = (
    "specify",
    "provide",
    "must be",
    "required",
    "cannot be None",
    "can't be None",
    "need",
    "should be",
    "pass",
    "None",
)


@dataclass(frozen=True)
class Case:
    """A failed call: `inputs` were given; `allowed` are the parameters' names, each with whether it must be given;
    `guess` makes a value for one."""

    trouble: Trouble
    inputs: Inputs
    allowed: Mapping[str, bool]
    guess: Guess


def is_of_sizes(trouble: Trouble) -> bool:
    """Whether a call failed for two tensors whose sizes do not fit."""
    return bool(_SIZES.search(trouble.message))


def repairs(case: Case) -> Iterator[Inputs]:
    """Changed inputs, the likeliest first."""
    for changed in _all(case):
        if all(not isinstance(value, Drawn) or math.prod(value.shape) <= _LARGEST for value in changed.values()):
            yield changed


def _all(case: Case) -> Iterator[Inputs]:
    for rule in (
        _missing,
        _unexpected,
        _keys,
        _named,
        _tokens,
        _pictures,
        _windows,
        _numbers,
        _unpacked,
        _ranks,
        _indices,
        _dtypes,
        _absent,
        _sizes,
        _fewer,
    ):
        yield from rule(case)


def _with(inputs: Inputs, **changes: object) -> Inputs:
    return {**inputs, **changes}


def _drawn(inputs: Inputs) -> Iterator[tuple[str, Drawn]]:
    for name, value in inputs.items():
        if isinstance(value, Drawn):
            yield name, value


def _missing(case: Case) -> Iterator[Inputs]:
    found = _MISSING.search(case.trouble.message)
    if found is None:
        return
    names = [name for name in re.findall(r"'(\w+)'", found[1]) if name in case.allowed and name not in case.inputs]
    values = {name: value for name in names if (value := case.guess(name)) is not None}
    if values:
        yield _with(case.inputs, **values)


def _unexpected(case: Case) -> Iterator[Inputs]:
    found = _UNEXPECTED.search(case.trouble.message)
    if found is not None and found[1] in case.inputs:
        yield {name: value for name, value in case.inputs.items() if name != found[1]}


def _named(case: Case) -> Iterator[Inputs]:
    """The program says which argument it wants (or which it does not want beside another)."""
    if case.trouble.kind not in (
        "ValueError",
        "AssertionError",
        "RuntimeError",
        "TypeError",
        "KeyError",
        "NotImplementedError",
    ):
        return
    words = [word for word in dict.fromkeys(_NAMED.findall(case.trouble.message)) if word in case.allowed]
    if any(words_of in case.trouble.message for words_of in _WORDS_OF_ABSENCE):
        absent = {name: value for name in words if name not in case.inputs and (value := case.guess(name)) is not None}
        if len(absent) > 1 and " and " in case.trouble.message:
            yield _with(case.inputs, **absent)
        for name, value in absent.items():
            yield _with(case.inputs, **{name: value})
    if not re.search(r"both|either|at the same time|only one|not support|exactly one|cannot", case.trouble.message):
        return
    given = [name for name in words if name in case.inputs and not case.allowed[name]]
    for name in given:
        yield {other: value for other, value in case.inputs.items() if other != name}


def _tokens(case: Case) -> Iterator[Inputs]:
    """As many tokens that stand for a picture or a sound as there are features of it."""
    wanted = 0
    if found := _TOKENS.search(case.trouble.message):
        wanted = int(found[2] or found[4])
    elif found := _TOKENS_OF.search(case.trouble.message):
        wanted = int(found[3])
    if not wanted:
        return
    ids = case.inputs.get("input_ids")
    kind = next(
        (kind for kind in ("image", "video", "audio", "speech") if kind in case.trouble.message.lower()), "image"
    )
    token = case.guess(f"<{kind}>")
    if not isinstance(ids, Drawn) or not isinstance(token, int):
        return
    rows = ids.shape[0]
    others = tuple(pair for pair in ids.placed if pair[0] != token)
    for count in dict.fromkeys((wanted // rows, wanted)):
        length = count + sum(number for _, number in others) + 8
        shape = (rows, length)
        changed = _with(case.inputs, input_ids=replace(ids, shape=shape, placed=(*others, (token, count))))
        for name, value in _drawn(case.inputs):
            if name in ("attention_mask", "token_type_ids", "position_ids", "labels") and value.shape[:2] == ids.shape:
                changed[name] = value.shaped(shape)
        if kind == "image" and "mm_token_type_ids" in case.allowed:  # which tokens stand for a picture
            changed["mm_token_type_ids"] = Drawn("ids", shape, 1, placed=((1, count),))
        yield changed


def _pictures(case: Case) -> Iterator[Inputs]:
    """``Input image size (224*224) doesn't match model (30*30)``."""
    found = _PICTURE.search(case.trouble.message)
    if found is None:
        return
    numbers = [int(number) for number in found.groups()]
    for have, want in ((numbers[:2], numbers[2:]), (numbers[2:], numbers[:2])):
        for name, value in _drawn(case.inputs):
            if list(value.shape[-2:]) == have:
                yield _with(case.inputs, **{name: value.shaped((*value.shape[:-2], *want))})


def _windows(case: Case) -> Iterator[Inputs]:
    """``shape '[2, 4, 3, 4, 3, 48]' is invalid``: windows that do not divide a picture; other sides may be divided."""
    if "is invalid for input of size" not in case.trouble.message:
        return
    for side in _SIDES:
        for name, value in _drawn(case.inputs):
            if value.is_float and len(value.shape) >= 4 and value.shape[-1] == value.shape[-2] != side:
                yield _with(case.inputs, **{name: value.shaped((*value.shape[:-2], side, side))})


def _numbers(case: Case) -> Iterator[Inputs]:
    """The message says a size that it got and one that it wanted: the case.inputs' sizes of the one become the other."""
    text = case.trouble.message
    if found := _MAT.search(text):
        yield from _swapped(case.inputs, int(found[2]), int(found[3]), last=True)
    if found := _CHANNELS.search(text):
        got = _list(found[1])
        yield from _channels(case.inputs, got, int(found[2]), int(found[3]))
    if found := _RUNNING.search(text):
        yield from _swapped(case.inputs, int(found[2]), int(found[1]))
    if found := _INPUT_SIZE.search(text):
        yield from _swapped(case.inputs, int(found[2]), int(found[1]), last=True)
    if found := _NORMALIZED.search(text):
        wanted, got = _list(found[1]), _list(found[2])
        for want, have in zip(reversed(wanted), reversed(got), strict=False):
            if want != have:
                yield from _swapped(case.inputs, have, want, last=True)
    if (
        case.trouble.kind in ("ValueError", "AssertionError", "RuntimeError")
        and not _SIZES.search(text)
        and not _MAT.search(text)
    ):
        numbers = [int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.]*\w)", text)][:6]
        found_last = _FOUND.search(text)
        haves = [int(found_last[1])] if found_last else numbers
        for have in haves:
            for want in numbers:
                if want != have and 0 < want <= _LARGEST_SIDE:
                    yield from _swapped(case.inputs, have, want)


def _sizes(case: Case) -> Iterator[Inputs]:
    found = _SIZES.search(case.trouble.message)
    if found is not None:
        one, other = int(found[1]), int(found[2])
        yield from _swapped(case.inputs, one, other)
        yield from _swapped(case.inputs, other, one)


def _swapped(inputs: Inputs, have: int, want: int, *, last: bool = False) -> Iterator[Inputs]:
    for name, value in _drawn(inputs):
        places = [place for place, size in enumerate(value.shape) if size == have and (place or len(value.shape) == 1)]
        if last and value.is_float:
            places = [place for place in places if place == len(value.shape) - 1]
        for place in reversed(places):
            shape = list(value.shape)
            shape[place] = want
            yield _with(inputs, **{name: value.shaped(tuple(shape))})


def _channels(inputs: Inputs, got: list[int], want: int, have: int) -> Iterator[Inputs]:
    exact = [(name, value) for name, value in _drawn(inputs) if list(value.shape) == got]
    for name, value in exact:
        shape = list(value.shape)
        at = 1 if len(shape) > 1 and shape[1] == have else 0
        if want in shape and shape.index(want) != at:  # channels last
            other = shape.index(want)
            shape[at], shape[other] = shape[other], shape[at]
            yield _with(inputs, **{name: value.shaped(tuple(shape))})
        shape = list(value.shape)
        shape[at] = want
        yield _with(inputs, **{name: value.shaped(tuple(shape))})
    for name, value in _drawn(inputs):  # a convolution takes rows without channels for the channels of one row
        if got[:1] == [1] and len(value.shape) == 2 and list(value.shape[:1]) == got[1:2] and value.is_float:
            yield _with(inputs, **{name: value.shaped((value.shape[0], want, *value.shape[1:]))})
    if not exact:
        yield from _swapped(inputs, have, want)


def _unpacked(case: Case) -> Iterator[Inputs]:
    """``b, c, h, w = x.shape`` wants another rank."""
    found = _UNPACK.search(case.trouble.message)
    if found is None or not case.trouble.frames:
        return
    rank = int(found[1])
    for frame in case.trouble.frames[:2]:
        for name in re.findall(r"(\w+)\.(?:shape|size\(\))", frame.line):
            shape = frame.shapes.get(name)
            for key, value in _drawn(case.inputs):
                if key == name or (shape is not None and value.shape == shape):
                    yield from _of_rank(case.inputs, key, value, rank)


def _ranks(case: Case) -> Iterator[Inputs]:
    if found := _RANK.search(case.trouble.message):
        got = tuple(_list(found[3]))
        rank = int(found[2])
    elif found := _NORM_RANK.search(case.trouble.message):
        got, rank = (), int(found[2])
    else:
        return
    for name, value in _drawn(case.inputs):
        if (value.shape == got or not got) and value.is_float:
            yield from _of_rank(case.inputs, name, value, rank)


def _of_rank(inputs: Inputs, name: str, value: Drawn, rank: int) -> Iterator[Inputs]:
    shape = value.shape
    if len(shape) > rank > 0:
        yield _with(
            inputs, **{name: value.shaped((shape[0], *shape[len(shape) - rank + 1 :]) if rank > 1 else shape[:1])}
        )
        yield _with(inputs, **{name: value.shaped(shape[:rank])})
    elif len(shape) < rank:
        missing = rank - len(shape)
        picture = (16,) * missing if rank >= 4 else (4,) * missing
        yield _with(inputs, **{name: value.shaped((*shape, *picture))})
        yield _with(inputs, **{name: value.shaped((shape[0], *([1] * missing), *shape[1:]) if shape else (2,) * rank)})


def _indices(case: Case) -> Iterator[Inputs]:
    text = case.trouble.message
    if not ("index out of range" in text or "out of bounds" in text or "Class values must be smaller" in text):
        return
    for high in (2, 1):
        for name, value in _drawn(case.inputs):
            if value.kind in ("ids", "order", "boxes", "ones") and (value.high > high or value.kind != "ids"):
                yield _with(case.inputs, **{name: replace(value, kind="ids", high=high, placed=())})


def _dtypes(case: Case) -> Iterator[Inputs]:
    text = case.trouble.message
    wants_ids = _WANTS_IDS.search(text)
    wants_bool = "bool" in text.lower() and ("dtype" in text or "expected" in text.lower())
    wants_floats = _WANTS_FLOATS.search(text)
    for name, value in _drawn(case.inputs):
        if wants_ids and value.is_float:
            shape = value.shape[:-1] if len(value.shape) > 2 else value.shape
            yield _with(case.inputs, **{name: Drawn("ids", shape, 2)})
        if wants_bool and value.kind in ("ones", "ids", "zeros", "normal"):
            yield _with(case.inputs, **{name: Drawn("mask", value.shape)})
        if wants_floats and not value.is_float:
            yield _with(case.inputs, **{name: Drawn("normal", value.shape)})


def _keys(case: Case) -> Iterator[Inputs]:
    """``batch["features"]``: a dictionary with what the failing lines read from it."""
    for frame in case.trouble.frames[:2]:
        for name, value in case.inputs.items():
            found = re.findall(rf"""\b{re.escape(name)}(?:\[|\.get\(|\.pop\()["'](\w+)["']""", frame.line)
            if not found or (isinstance(value, Made) and value.kind != "dict"):
                continue
            items = dict(value.items) if isinstance(value, Made) else {}
            more = {key: made for key in found if key not in items and (made := case.guess(key)) is not None}
            if more:
                yield _with(case.inputs, **{name: Made("dict", tuple({**items, **more}.items()))})


def _absent(case: Case) -> Iterator[Inputs]:
    """Something is None that was not meant to be: an argument that the failing lines name."""
    if "NoneType" not in case.trouble.message and "None" not in case.trouble.message:
        return
    tried = set()
    for frame in case.trouble.frames:
        for name in re.findall(r"\w+", frame.line):
            if name in case.allowed and name not in case.inputs and name in frame.absent and name not in tried:
                tried.add(name)
                if (value := case.guess(name)) is not None:
                    yield _with(case.inputs, **{name: value})
    for frame in case.trouble.frames:
        for name in sorted(frame.absent):
            if (
                name in case.allowed
                and name not in case.inputs
                and name not in tried
                and not name.startswith(("return_", "output_", "use_"))
            ):
                tried.add(name)
                if (value := case.guess(name)) is not None:
                    yield _with(case.inputs, **{name: value})


def _fewer(case: Case) -> Iterator[Inputs]:
    """Without one of the arguments that need not be given; last, for it shows less of the program."""
    if "use_cache" in case.allowed and "use_cache" not in case.inputs:
        yield _with(case.inputs, use_cache=False)
    for name in list(case.inputs)[:0:-1]:  # the first is the model's main one
        if not case.allowed.get(name, False):
            yield {other: value for other, value in case.inputs.items() if other != name}


def _list(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
