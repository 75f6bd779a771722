"""Mends whose proof did not come to an end: they are proven apart, and what is left says why it is unverified."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from graphmend_lsp.engine.runs import Run, cut_of
from graphmend_lsp.model import Counts, Failure, Mend, Verdict

Program = tuple[Mend, ...]
Judged = list[tuple[Verdict, Run]]
Verify = Callable[[Sequence[Program]], Awaitable[tuple[Judged, Failure | None]]]

_BROKEN_OFF = frozenset(("timeout", "memory", "crash", "exit", "protocol"))
_MOST = 2  # proofs of one program that break off, after which no more are begun


async def judge_each(
    verify: Verify, programs: Sequence[Program]
) -> tuple[list[tuple[Program, Verdict]], Failure | None]:
    """Each program with its verdict, as far as there is one; and why there is none for the rest.

    Where the proof of all broke off (time, memory, a crash), one of them may be to blame: each is proven by itself, until
    a second one breaks off.
    """
    judged, failure = await verify(programs)
    if failure is None or failure.kind not in _BROKEN_OFF or len(programs) == 1:
        return _paired(programs, judged), failure
    found: list[tuple[Program, Verdict]] = []
    broken: list[Failure] = []
    for program in programs:
        judged, failure = await verify([program])
        found += _paired([program], judged)
        broken += [failure] if failure is not None else []
        if len(broken) == _MOST:
            break
    return found, broken[0] if broken else None


def unproven(failure: Failure, before: Run | None) -> Verdict | None:
    """The verdict on a mend that nothing is known of, because its proof failed; None when it was only put off.

    `before` is the run of the original.
    """
    if failure.kind == "cancelled":
        return None
    cut = cut_of(before.counts) if before is not None else Counts(0, 0, 0)
    return Verdict("unverified", (f"verification stopped: {failure.words}",), cut, cut)


def _paired(programs: Sequence[Program], judged: Judged) -> list[tuple[Program, Verdict]]:
    return [(program, verdict) for program, (verdict, _) in zip(programs, judged, strict=False)]
