"""A recording as a report: every site that it met with what the rules propose, as far as the code still reads so."""

from __future__ import annotations

from graphmend_lsp.analysis.suppress import is_suppressed
from graphmend_lsp.engine.breaks import Scope, is_installed
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import wrapping
from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.engine.recorded import RecordedSite, Recording, standing
from graphmend_lsp.engine.support import Supports
from graphmend_lsp.model import Break, Candidate, Declined, Failure, Finding, Report

_UNREADABLE = Declined("source", "GraphMend cannot read its source.")
_CHANGED = Declined("source", "The code has changed since the run. Record it again.")
_INSTALLED = Declined(
    "scope", "It is in an installed package. Name the file, or mend a copy of it with `mend --overlay`."
)


def report_of(recording: Recording, paths: tuple[str, ...] = (), failures: tuple[Failure, ...] = ()) -> Report:
    """The report on a recording as the files read now. With `paths`, only of breaks in these files and folders.

    A site whose code has changed is told where it was, without a mend.
    """
    sources, scope = Sources({}), Scope(paths)
    mender = Mender()
    try:
        findings = tuple(
            finding
            for one in recording.sites
            if (not paths or scope.contains(one.site.path))
            and (finding := _finding(one, recording, scope, sources, mender)) is not None
        )
    finally:
        mender.close()
    return Report(recording.torch, recording.python, None, recording.results, findings, failures)


def _finding(one: RecordedSite, recording: Recording, scope: Scope, sources: Sources, mender: Mender) -> Finding | None:
    site, text = one.site, sources.get(one.site.path)
    if text is None:
        return Finding(site, declined=(_UNREADABLE,))
    now = _now(one, recording, text)
    if now is None:
        return Finding(site, declined=(_CHANGED,))
    if is_suppressed(now, text):
        return None
    if is_installed(now.path) and not scope.paths:
        return Finding(now, declined=(_INSTALLED,))
    around = dict.fromkeys((now.path, *(frame.path for frame in now.chain if scope.contains(frame.path))))
    texts = {path: value for path in around if (value := sources.get(path)) is not None}
    supports = Supports(sources)
    styles = {path: supports.style(path) for path in texts}
    mends, refusals = mender.propose(now, texts, styles=styles, wrapping=wrapping(now, texts, sources))
    return Finding(now, tuple(Candidate(supports.completed(mend)) for mend in mends), refusals)


def _now(one: RecordedSite, recording: Recording, text: str) -> Break | None:
    sha256 = recording.files.get(one.site.path)
    return next(iter(standing((one,), sha256, text)), None) if sha256 is not None else None
