"""Compare two observations of one call: what differs, where, by how much, and how grave that is.

Pure: data in, differences out; runs no user code and knows nothing of processes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch

from .effects import Effect
from .observe import Observation, Raised
from .snapshot import Leaf, Snapshot, read_back
from .wire import Difference

Likeness = Literal["bit-equal", "close", "different", "not compared"]
EffectsLikeness = Literal["equal", "moved", "different", "not compared"]
Severity = Literal["close", "moved", "exception", "different"]
RatedPart = Literal["outputs", "gradients", "state"]
_RATED: Mapping[str, RatedPart] = {"output": "outputs", "gradient": "gradients"}  # all other parts are state
ZEROS = "None became zeros, which an optimizer does not skip"
GAINED = "the values are equal, but now require a gradient: a backward pass gives zeros where the original gives None"
LOST = "None became NaN; the original also has a gradient that is not finite"
MAX_DIFFERENCES = 8  # of one part in one call; the rest is a number

_TOLERANCES: dict[torch.dtype, tuple[float, float]] = {  # those of torch.testing.assert_close
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7), torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip
PARTS = ("output", "gradient", "input", "state", "random state")
NO_TIME = "the time limit left no time for float64"
Shown = str
"""What the same call in float64 showed of a difference: why that is more than rounding, or nothing but rounding: ""."""
_EFFECTS: tuple[EffectsLikeness, ...] = ("not compared", "equal", "moved", "different")
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Side:
    """One program's observation of a call, with the tensor contents that its snapshots refer to."""

    seen: Observation
    blobs: Mapping[str, bytes]


@dataclass
class Comparison:
    """What comparing a sequence of calls showed so far; `add` takes the next call."""

    outputs: Likeness = "not compared"
    gradients: Likeness = "not compared"
    state: Likeness = "not compared"
    effects: EffectsLikeness = "not compared"
    differences: list[Difference] = field(default_factory=list)
    rounded: set[RatedPart] = field(default_factory=set)
    """What compiled code gave only within the bound of its dtype in some call, without a difference that is reported."""

    def add(
        self,
        label: str,
        original: Side,
        mended: Side,
        *,
        compiled: bool,
        forgiving: Collection[str] = (),
        shown: Shown | None = None,
    ) -> None:
        """Compare one call. `compiled`: effects may come earlier or later than in the original, which is told.

        `forgiving`: the parts in which closeness is all that can be expected and is not reported, because the reference
        ran under another backend, or the backend itself reassociates sums; that none became zeros is no such closeness.
        What is close there is noted in `rounded`.
        `shown` is of outputs and gradients.
        """
        raised = _compare_raised(label, original.seen.raised, mended.seen.raised)
        late = raised is not None and raised["severity"] == "exception"
        found: list[Difference] = [raised] if raised else []
        if raised is None or late:
            for part in PARTS:
                differences = _compare_part(part, label, original, mended)
                if part in forgiving:
                    reported = [one for one in differences if one["severity"] != "close" or is_zeros(one)]
                    self._forgive(part, compiled, len(differences) - len(reported))
                    differences = reported
                if shown is not None and part in ("output", "gradient"):
                    differences = [_in_float64(one, shown) for one in differences]
                if late:  # the exception came at another time; what ran in between is a consequence
                    differences = [_graver(one, "exception") for one in differences]
                self._rate(part, original, differences)
                found += differences
        effects = compare_effects(label, original.seen.effects, mended.seen.effects, compiled=compiled)
        if late:
            effects = [_graver(one, "exception") for one in effects]
        self._rate_effects(effects)
        self.differences += [*found, *effects]

    def join(self, other: Comparison) -> None:
        """Take over what another comparison showed."""
        self.outputs = _worse(self.outputs, other.outputs)
        self.gradients = _worse(self.gradients, other.gradients)
        self.state = _worse(self.state, other.state)
        self.effects = max(self.effects, other.effects, key=_EFFECTS.index)
        self.differences += other.differences
        self.rounded |= other.rounded

    def _forgive(self, part: str, compiled: bool, times: int) -> None:
        if times and compiled:
            self.rounded.add(_RATED.get(part, "state"))
        elif times:  # an operator sums by itself what one backward pass sums as it comes
            self._rate_as(part, "close")

    def _rate(self, part: str, original: Side, differences: Sequence[Difference]) -> None:
        grades = {one["severity"] for one in differences}
        likeness: Likeness = "bit-equal"
        if "different" in grades or "exception" in grades:
            likeness = "different"
        elif "close" in grades:
            likeness = "close"
        seen = original.seen.parts
        is_there = seen.get(part) or differences if part in _RATED else part in seen
        if is_there:
            self._rate_as(part, likeness)

    def _rate_as(self, part: str, likeness: Likeness) -> None:
        if part == "output":
            self.outputs = _worse(self.outputs, likeness)
        elif part == "gradient":
            self.gradients = _worse(self.gradients, likeness)
        else:
            self.state = _worse(self.state, likeness)

    def _rate_effects(self, differences: Sequence[Difference]) -> None:
        grades = {one["severity"] for one in differences}
        now: EffectsLikeness = "equal" if not grades else "moved" if grades == {"moved"} else "different"
        self.effects = max(self.effects, now, key=_EFFECTS.index)


def compare_effects(
    label: str, original: Sequence[Effect], mended: Sequence[Effect], *, compiled: bool
) -> list[Difference]:
    """How what was printed, logged and warned differs: lost and new pieces, changed text, or another order."""
    records = _records(label, original, mended)
    original, mended = _plain(original), _plain(mended)
    if original == mended:
        return records
    before, after = _pieces(original), _pieces(mended)
    if Counter(before) == Counter(after):
        kinds = sorted({one.kind for one in original})
        text = "has another order"
        severity: Severity = "moved" if compiled else "different"
        return [*records, _difference(kinds[0] if len(kinds) == 1 else "effects", "", label, text, severity)]
    found: list[Difference] = []
    for kind in ("stdout", "stderr", "log", "warning"):
        lost = list((Counter(one for one in before if one.kind == kind) - Counter(after)).elements())
        new = list((Counter(one for one in after if one.kind == kind) - Counter(before)).elements())
        for old, other in zip(lost, new, strict=False):
            found.append(_difference(kind, old.about, label, f"{_quote(old)} became {_quote(other, old)}", "different"))
        found += [
            _difference(kind, one.about, label, f"missing: {_quote(one)}", "different") for one in lost[len(new) :]
        ]
        found += [_difference(kind, one.about, label, f"new: {_quote(one)}", "different") for one in new[len(lost) :]]
    return [*records, *found[:MAX_DIFFERENCES]]


def _plain(effects: Sequence[Effect]) -> list[Effect]:
    return [replace(one, record="") for one in effects]


def _records(label: str, original: Sequence[Effect], mended: Sequence[Effect]) -> list[Difference]:
    """How log records differ in what is not their text: the function that they name, the template of the text."""
    old, new = (Counter((one.about, one.text, one.record) for one in effects) for effects in (original, mended))
    left = {record[:2]: record[2] for record in new - old}
    for about, text, record in old - new:
        if (other := left.get((about, text), record)) != record:
            detail = f"{_brief(text)!r} logged as {_brief(record)} became {_brief(other)}"
            return [{**_difference("log", "", label, detail, "exception"), "assumes": "log-records"}]
    return []


def compare_refusals(label: str, original: Observation, mended: Observation) -> list[Difference]:
    """How the exceptions of a call with made-up values differ: whether there is one, and its type; not what is said.

    Of a backward pass that fails only that the call does not: compiling may take away what makes it fail (a change in place).
    """
    old, new = original.raised, mended.raised
    if old is not None and old.stage == "backward":
        if new is None or new.stage == "backward":
            return []
    elif old is not None and new is not None and old.type == new.type:
        return []
    raised = _compare_raised(label, old, new)
    return [_graver(raised, "exception")] if raised is not None else []


def compare_leaves(
    old: Leaf, new: Leaf, old_blobs: Mapping[str, bytes], new_blobs: Mapping[str, bytes], *, signed_zeros: bool = True
) -> tuple[Severity, str] | None:
    """How two leaves differ, in words; None when they are equal: bit for bit, but any NaN is equal to any NaN.

    Without `signed_zeros` 0.0 is equal to -0.0: a gradient that `torch.where` adds a zero to loses the sign of its own.
    """
    if old.text != new.text:
        return "different", f"{_brief(old.text)} became {_brief(new.text)}"
    if old.number is not None and new.number is not None:
        pair = torch.tensor([old.number], dtype=torch.float64), torch.tensor([new.number], dtype=torch.float64)
        return _compare_tensors(*pair, signed_zeros) if old.number.hex() != new.number.hex() else None
    if old.digest == new.digest:
        return None
    first, second = read_back(old, old_blobs), read_back(new, new_blobs)
    if first is None or second is None:
        return "different", "the contents differ"
    return _compare_tensors(first, second, signed_zeros)


_EQUAL: deque[tuple[Snapshot, Snapshot]] = deque(maxlen=16)
"""States that were found equal, the latest ones: calls that leave the state alone share its snapshot (`Store.once`)."""


def is_zero(leaf: Leaf, blobs: Mapping[str, bytes]) -> bool:
    """Whether it is a tensor of zeros."""
    tensor = read_back(leaf, blobs)
    return tensor is not None and not bool(tensor.to(torch.complex128).count_nonzero())


def _compare_part(part: str, label: str, original: Side, mended: Side) -> list[Difference]:
    old, new = original.seen.parts.get(part, {}), mended.seen.parts.get(part, {})
    if any(one is old and other is new for one, other in _EQUAL):
        return []
    found: list[Difference] = []
    for path, leaf in old.items():
        other = new.get(path)
        if other is None:
            if not _has_parent_difference(path, old, new):
                found.append(_difference(part, path, label, f"missing: {_brief(leaf.text)}", "different"))
            continue
        if leaf.text == other.text and (leaf.digest == other.digest if leaf.digest else leaf == other):
            continue
        if part == "output" and other.text == f"{leaf.text} requires_grad":
            alike = replace(leaf, text=other.text)
            if compare_leaves(alike, other, original.blobs, mended.blobs) is None:
                found.append(_difference(part, path, label, GAINED, "exception"))
                continue
        words = compare_leaves(leaf, other, original.blobs, mended.blobs, signed_zeros=part != "gradient")
        if words is not None:
            found.append(_difference(part, path, label, words[1], words[0]))
    for path, leaf in new.items():
        if path not in old and not _has_parent_difference(path, new, old):
            severity: Severity = "moved" if part == "state" else "different"
            if part == "gradient" and is_zero(leaf, mended.blobs):
                if not path.startswith(
                    "input"
                ):  # an optimizer skips a parameter without a gradient, not one with zeros
                    found.append({**_difference(part, path, label, ZEROS, "close"), "assumes": "zero-gradients"})
                continue
            if part == "gradient" and not path.startswith("input") and _is_lost(leaf, original, mended):
                found.append(_difference(part, path, label, LOST, "exception"))
                continue
            said = "new" if part != "state" else "new, or made earlier than before"
            found.append(_difference(part, path, label, f"{said}: {_brief(leaf.text)}", severity))
    if part == "state" and not found:
        _EQUAL.append((old, new))
    if len(found) > MAX_DIFFERENCES:
        found.sort(key=lambda one: ("different", "exception", "close", "moved").index(one["severity"]))
        more = len(found) - MAX_DIFFERENCES
        found = found[:MAX_DIFFERENCES]
        found[-1] = _difference(
            part, found[-1]["where"], label, f"{found[-1]['detail']} (and {more} more)", found[-1]["severity"]
        )
    return found


def is_zeros(one: Difference) -> bool:
    """Whether a parameter's gradient that was none became zeros."""
    return one["detail"].startswith(ZEROS)


def _is_lost(leaf: Leaf, original: Side, mended: Side) -> bool:
    """Whether a gradient is new and nothing but zeros and NaN, in a call in which one of the original's is not finite.

    A step with that one ends the training either way.
    """
    tensor = read_back(leaf, mended.blobs)
    if tensor is None or bool(((tensor == tensor) & (tensor != 0)).any()):
        return False
    known = (read_back(one, original.blobs) for one in original.seen.parts.get("gradient", {}).values())
    return any(one is not None and not bool(torch.isfinite(one).all()) for one in known)


def _has_parent_difference(path: str, here: Snapshot, there: Snapshot) -> bool:
    """Whether a container above `path` is itself missing on the other side or another thing there (it says enough)."""
    cut = len(path)
    while (cut := max(path.rfind(".", 0, cut), path.rfind("[", 0, cut))) >= 0:
        parent = path[:cut]
        if parent in here:
            return parent not in there or here[parent].text != there[parent].text
        if cut == 0:
            break
    return "" in here and path != "" and ("" not in there or here[""].text != there[""].text)


def _compare_tensors(old: torch.Tensor, new: torch.Tensor, signed_zeros: bool) -> tuple[Severity, str] | None:
    if old.shape != new.shape or old.dtype != new.dtype:
        return "different", f"{tuple(old.shape)} {old.dtype} became {tuple(new.shape)} {new.dtype}"
    unequal = _unequal(old, new)
    if not signed_zeros and (old.is_floating_point() or old.is_complex()):
        wide = torch.complex128 if old.is_complex() else torch.float64
        unequal &= old.to(wide) != new.to(wide)
    count = int(unequal.sum())
    if not count:
        return None
    if old.dtype == torch.bool or not (old.is_floating_point() or old.is_complex()):
        at = _first_index(unequal)
        return "different", f"{_at(old, at)} became {_at(new, at)} at {_index(at)} ({count} of {old.numel()})"
    wide = torch.complex128 if old.is_complex() else torch.float64
    first, second = old.to(wide), new.to(wide)
    finite = torch.isfinite(first) & torch.isfinite(second)
    both_nan = torch.isnan(first) & torch.isnan(second)
    odd = ~finite & ~both_nan & (first != second)
    if bool(odd.any()):
        at = _first_index(odd)
        return "different", f"{_at(old, at)} became {_at(new, at)} at {_index(at)} ({int(odd.sum())} of {old.numel()})"
    distance = torch.where(finite, (first - second).abs(), torch.zeros((), dtype=torch.float64))
    relative, absolute = _TOLERANCES.get(old.dtype, (0.0, 0.0))
    allowed = absolute + relative * torch.where(finite, first.abs(), torch.zeros((), dtype=torch.float64))
    worst = int(distance.reshape(-1).argmax())
    at = _unravel(worst, tuple(old.shape))
    largest = float(distance.reshape(-1)[worst])
    detail = (
        f"max abs diff {largest:.1e} at {_index(at)}"
        if largest
        else f"0.0 and -0.0 differ at {_index(_first_index(unequal))}"
    )
    return ("close" if bool((distance <= allowed).all()) else "different"), detail


def _unequal(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Where the bits differ, not counting two NaNs as different."""
    if old.is_complex():
        parts = _unequal(torch.view_as_real(old), torch.view_as_real(new))
        return parts.any(-1)
    if not old.is_floating_point():
        return old != new
    kind = _INTEGERS[old.element_size()]
    bits = old.contiguous().view(kind) != new.contiguous().view(kind)
    wide_old, wide_new = (old.double(), new.double()) if old.element_size() < 4 else (old, new)
    return bits & ~(torch.isnan(wide_old) & torch.isnan(wide_new))


def _compare_raised(label: str, old: Raised | None, new: Raised | None) -> Difference | None:
    if old == new:
        return None
    if old is None or new is None:
        detail = f"{_exception(old)} was lost" if new is None else f"new: {_exception(new)}"
        return _difference("exception", "", label, detail, "different")
    return _difference("exception", "", label, f"{_exception(old)} became {_exception(new)}", "exception")


def _exception(raised: Raised | None) -> str:
    if raised is None:
        return "no exception"
    cause = f" from {', '.join(raised.causes)}" if raised.causes else ""
    stage = " in backward" if raised.stage == "backward" else ""
    return f"{raised.type}({_brief(raised.message)!r}){cause}{stage}"


def _pieces(effects: Sequence[Effect]) -> list[Effect]:
    """Effects one by one, text split into its lines."""
    pieces: list[Effect] = []
    for effect in effects:
        if effect.kind in ("stdout", "stderr"):
            pieces += [Effect(effect.kind, line) for line in effect.text.splitlines(keepends=True)]
        else:
            pieces.append(effect)
    return pieces


def _quote(effect: Effect, other: Effect | None = None) -> str:
    about = f" ({effect.about})" if other is not None and effect.about != other.about else ""
    return f"{_brief(effect.text)!r}{about}"


def _worse(old: Likeness, new: Likeness) -> Likeness:
    order: tuple[Likeness, ...] = ("not compared", "bit-equal", "close", "different")
    return max(old, new, key=order.index)


def _difference(what: str, where: str, call: str, detail: str, severity: Severity) -> Difference:
    return Difference(what=what, where=where, call=call, detail=detail, severity=severity)


def _in_float64(one: Difference, shown: Shown) -> Difference:
    """A difference beyond the bound, once the call was made again in float64."""
    if one["severity"] != "different":
        return one
    told: Difference = {**one, "detail": f"{one['detail']}; {shown}"}
    if shown == NO_TIME:
        return {**told, "undecided": True}
    if shown:
        return told
    return {**one, "severity": "close", "rounded": True}


def _graver(one: Difference, severity: Severity) -> Difference:
    return Difference(what=one["what"], where=one["where"], call=one["call"], detail=one["detail"], severity=severity)


def _brief(text: str, width: int = 160) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _first_index(mask: torch.Tensor) -> tuple[int, ...]:
    return _unravel(int(mask.reshape(-1).to(torch.uint8).argmax()), tuple(mask.shape))


def _unravel(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(shape):
        index.append(flat % size)
        flat //= size
    return tuple(reversed(index))


def _at(tensor: torch.Tensor, index: tuple[int, ...]) -> str:
    value = tensor[index].item()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _index(index: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, index))})" if index else "()"
