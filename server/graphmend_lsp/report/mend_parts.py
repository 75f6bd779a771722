"""Records of the shards of one mend (``mend --shard I/N --json``) as the record that one mend would have made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphmend_lsp.model import Counts, Verdict
from graphmend_lsp.report.read import BadRecordError

_WORST_LAST: dict[str, tuple[str, ...]] = {
    "safety": ("safe", "unverified", "unsafe", "wrong"),
    **dict.fromkeys(("outputs", "gradients", "state"), ("bit-equal", "close", "not compared", "different")),
    "effects": ("equal", "moved", "not compared", "different"),
}
_HEADS = ("--- a/", "+++ b/")


def mend_parts(
    records: Sequence[tuple[str, Mapping[str, Any], Callable[[str], str]]],
) -> dict[str, Any]:
    """What these records say of edits and of what was before, as one: sums, the worst verdict, each edit once.

    Each comes with its file's name, and with what gives one of its paths as it is here.

    Raises:
        BadRecordError: two of them edit one file differently, or one of them is incomplete.
    """
    edits: dict[str, str] = {}
    try:
        for name, record, here in records:
            for edit in record["edits"]:
                path, change = here(edit["path"]), _moved(edit["diff"], here)
                if edits.setdefault(path, change) != change:
                    raise BadRecordError(f"{name} and another record edit {path} differently. Mend without --shard.")
        parts = [record for _, record, _ in records]
        stops = [record["stopped_after"] for record in parts if "stopped_after" in record]
        measured = [one for record in parts for one in record.get("measured", ())]
        return {
            "before": _sum(record["before"] for record in parts),
            "after": _sum(record["after"] for record in parts),
            "verified": _worst([record["verified"] for record in parts if record["verified"] is not None]),
            "applied": [{**one, "path": here(one["path"])} for _, record, here in records for one in record["applied"]],
            "edits": [{"path": path, "diff": change} for path, change in edits.items()],
            **({"stopped_after": max(stops)} if stops else {}),
            **({"measured": measured} if measured else {}),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise BadRecordError(f"A record of a mend is incomplete ({error!r}).") from error


def verdict_of(verified: Mapping[str, Any] | None) -> Verdict | None:
    """The verdict in a record of a mend, as far as it is shown."""
    if verified is None:
        return None
    likeness = {name: verified[name] for name in ("outputs", "gradients", "state", "effects")}
    nothing = Counts(0, 0, 0)
    return Verdict(
        verified["safety"],
        tuple(verified["reasons"]),
        nothing,
        nothing,
        calls=verified["calls"],
        rounded=tuple(verified.get("rounded", ())),
        **likeness,
    )


def _moved(change: str, here: Callable[[str], str]) -> str:
    """A diff whose file has another path here."""
    lines = change.splitlines(keepends=True)
    for number, line in enumerate(lines[:2]):
        head = next((one for one in _HEADS if line.startswith(one)), None)
        if head is not None:
            name = here("/" + line.removeprefix(head).rstrip("\n"))
            lines[number] = head + name.replace("\\", "/").lstrip("/") + "\n"
    return "".join(lines)


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total


def _worst(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    if not verdicts:
        return None
    lists = ("reasons", "assumes", "discharged", "accepted")
    joined = {name: [item for one in verdicts for item in one.get(name, ())] for name in lists}
    rounded = sorted({part for one in verdicts for part in one.get("rounded", ())})
    return {
        **{name: max((one[name] for one in verdicts), key=order.index) for name, order in _WORST_LAST.items()},
        "calls": sum(one["calls"] for one in verdicts),
        "reasons": list(dict.fromkeys(joined.pop("reasons"))),
        **{name: items for name, items in joined.items() if items},
        **({"rounded": rounded} if rounded else {}),
    }
