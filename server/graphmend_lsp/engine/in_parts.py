"""A candidate's result from two requests: all ways of running it but inductor's, and later inductor alone. Pure."""

from __future__ import annotations

from graphmend_lsp.engine.runs import cut_of
from graphmend_lsp.engine.verdicts import gains
from graphmend_lsp.worker.wire import CandidateResult

_LIKENESS = ("bit-equal", "close", "not compared", "different")
_EFFECTS = ("equal", "moved", "not compared", "different")


def is_first_part(known: CandidateResult) -> bool:
    """Whether a result without inductor shows a mended program that gains, and nothing that differs or was left untried."""
    told = all(one["severity"] == "moved" and "assumes" not in one for one in known["differences"])
    plain = known["failure"] is None and not known["unlike_sides"] and not known.get("untried")
    return told and plain and gains(cut_of(known["before"]), cut_of(known["after"]))


def joined(first: CandidateResult, second: CandidateResult) -> CandidateResult:
    """The result of both, as of a whole, which watches no conditions and places; `second` is inductor's, without probes."""
    differences = [*first["differences"], *(one for one in second["differences"] if one not in first["differences"])]
    found = CandidateResult(**{**first, **second})
    for name in ("before", "after", "events", "graphs", "probed"):
        if name in first:
            found[name] = first[name]
    found.pop("exercised", None)  # numbers of places of the first request
    found.pop("unmet", None)
    found["differences"] = differences
    for name in ("outputs", "gradients", "state"):
        found[name] = max(first[name], second[name], key=_LIKENESS.index)  # type: ignore[literal-required]
    found["effects"] = max(first["effects"], second["effects"], key=_EFFECTS.index)
    found["rounded"] = sorted({*first["rounded"], *second["rounded"]})
    found["calls"] = first["calls"] + second["calls"]
    found["seconds"] = first["seconds"] + second["seconds"]
    return found
