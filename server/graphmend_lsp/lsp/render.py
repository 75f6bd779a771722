"""Findings as LSP shows them: diagnostics, hovers, titles. Pure; user-facing words live here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import PurePath

from lsprotocol import types

from graphmend_lsp.lsp.client import Client
from graphmend_lsp.lsp.documents import LARGEST
from graphmend_lsp.lsp.found import Known, Now, Run, failure_line
from graphmend_lsp.lsp.results import Note
from graphmend_lsp.lsp.units import location, to_range
from graphmend_lsp.model import Break, Candidate, Failure, Frame, Span
from graphmend_lsp.report.manual import PAGES, break_pages
from graphmend_lsp.report.words import compared, cost, difference, inside, plain_title, saving, shortened, titled
from graphmend_lsp.text import OverlappingEditsError, Text, apply_edits

SOURCE = "graphmend"
_PYTORCH = "https://meta-pytorch.github.io/compile-graph-break-site/gb"
_CHAIN_SHOWN = 12
_LONGEST = 100  # characters of a reason in a message
_HOW = {"dynamo": "", "fake": " in a run without data", "recorded": " in a recorded run"}

UriOf = Callable[[str], "str | None"]


def diagnostic(known: Known, text: Text, now: Now, uri_of: UriOf, client: Client) -> types.Diagnostic:
    """A finding as a diagnostic of the document that reads `text`; `now` gives the files that the call chain names."""
    site = known.site
    page = page_of(site.code) if client.diagnostic_links else None
    related = [
        types.DiagnosticRelatedInformation(
            location(frame.path, uri_of(frame.path), there, frame.span, client.encoding), words
        )
        for frame, words in (chain_words(site) if client.diagnostic_related else ())
        if (there := now(frame.path)) is not None
    ]
    return types.Diagnostic(
        range=to_range(text, site.span, client.encoding),
        severity=severity(known),
        code=site.code,
        source=SOURCE,
        message=message(known),
        code_description=types.CodeDescription(page) if page else None,
        related_information=related or None,
        data={"id": known.id} if client.diagnostic_data else None,
    )


def note_diagnostic(
    note: Note, span: Span, text: Text, run: Run, now: Now, uri_of: UriOf, client: Client
) -> types.Diagnostic | None:
    """A place that leads to breaks in other files, or a break that is shown at the user's call; None when none stands."""
    told: list[tuple[Break, Span, Text]] = []
    for site in note.sites:
        there = now(site.path)
        moved = run.moved(site.path, site.span, there) if there is not None else None
        if there is not None and moved is not None:
            told.append((site, moved, there))
    if not told:
        return None
    first, at, _ = told[0]
    place = f"{PurePath(first.path).name}:{at.start.line}"
    if note.is_inside:
        price = cost(first)
        parts = [_sentence(first.reason), _sentence(price[0].upper() + price[1:]) if price else ""]
        words = "\n".join([*filter(None, parts), f"The quick fix is at the call that leads here, {place}."])
    elif len(told) == 1:
        words = f"This call leads to a graph break in {place}: {_sentence(first.reason)}"
    else:
        words = f"This call leads to {len(told)} graph breaks, the first in {place}: {_sentence(first.reason)}"
    page = page_of(first.code) if client.diagnostic_links else None
    related = [
        types.DiagnosticRelatedInformation(
            location(site.path, uri_of(site.path), there, where, client.encoding), _sentence(site.reason)
        )
        for site, where, there in (told[:_CHAIN_SHOWN] if client.diagnostic_related else ())
    ]
    return types.Diagnostic(
        range=to_range(text, span, client.encoding),
        severity=types.DiagnosticSeverity.Warning if note.is_inside else types.DiagnosticSeverity.Information,
        code=first.code,
        source=SOURCE,
        message=words,
        code_description=types.CodeDescription(page) if page else None,
        related_information=related or None,
    )


def failure_diagnostic(failure: Failure, text: Text, client: Client) -> types.Diagnostic:
    """A failure of a run as a diagnostic at the user's line."""
    return types.Diagnostic(
        range=to_range(text, failure_line(failure, text), client.encoding),
        severity=types.DiagnosticSeverity.Warning,
        code=f"run-{failure.kind}",
        source=SOURCE,
        message=failure_words(failure),
    )


def large_diagnostic(characters: int) -> types.Diagnostic:
    """What is said at the beginning of a file that is too long to be analysed."""
    limit, size = f"{LARGEST / 1e6:g} MB", f"{characters / 1e6:.1f} MB"
    return types.Diagnostic(
        range=types.Range(types.Position(0, 0), types.Position(0, 0)),
        severity=types.DiagnosticSeverity.Information,
        code="file-too-large",
        source=SOURCE,
        message=f"GraphMend does not check this file: it has {size}, and the limit is {limit}.",
    )


def failure_words(failure: Failure) -> str:
    """A failure in two sentences: what happened, what to do."""
    return f"{_sentence(failure.message)} {_sentence(failure.remedy)}".strip()


def severity(known: Known) -> types.DiagnosticSeverity:
    """Error only where the program does not run when it is compiled."""
    if known.site.outcome == "refused":
        return types.DiagnosticSeverity.Error
    if known.site.evidence in ("dynamo", "recorded"):
        return types.DiagnosticSeverity.Warning
    raised = known.site.outcome == "raised"
    return types.DiagnosticSeverity.Hint if raised else types.DiagnosticSeverity.Information


def page_of(code: str) -> str | None:
    """Our page about a kind of graph break (a file beside this program, which links PyTorch's), else PyTorch's."""
    if code in break_pages():
        return (PAGES / f"{code}.md").as_uri()
    return f"{_PYTORCH}/{code.lower()}.html" if code[:2] == "GB" and code[2:].isdigit() else None


def message(known: Known) -> str:
    """What a diagnostic says: the reason, what it costs, and what can be done."""
    lines = [_sentence(known.site.reason)]
    if there := inside(known.site):
        lines[0] = f"Graph break {there}. {lines[0]}"
    if price := cost(known.site):
        lines.append(_sentence(price[0].upper() + price[1:]))
    if known.stale:
        lines[0] += " (Seen before your edits.)"
    if known.best:
        lines.append(f"Quick fix, verified safe: {plain_title(known.best)}.")
    elif known.offered:
        lines.append(f"Quick fix ({standing(known.offered[0])}): {plain_title(known.offered[0])}.")
    elif package := package_reached(known.site):
        lines.append(f"Quick fix: mend a copy of {package[0]} in your project.")
    elif reason := refusal(known):
        lines.append(f"Not mended: {reason}")  # editors hide actions that are disabled, VS Code in its menu too
    if known.site.evidence == "static":
        lines.append("Found in the source. No run has reached it yet.")
    lines.append(known.origin)
    return "\n".join(line for line in lines if line)


def refusal(known: Known) -> str:
    """Why no mend is offered, in words; empty while that is not known."""
    wrong = next((candidate for candidate in known.candidates if candidate.safety == "wrong"), None)
    if wrong is not None and wrong.verdict is not None:
        told = "; ".join(wrong.verdict.reasons) or "the results differ"
        return _sentence(f"the mended program ran and does something else: {told}")
    if known.declined:
        reasons = dict.fromkeys(declined.reason for declined in known.declined)
        return " ".join(_sentence(reason[:1].upper() + reason[1:]) for reason in reasons)
    if not known.proposed:
        return ""
    return "No rule mends this kind of graph break."


def action_title(candidate: Candidate, *, one_of_several: bool = False) -> str:
    """The title of a quick fix; one of several also says what it saves, and what it changes."""
    notes = [standing(candidate)] if candidate.safety != "safe" else []
    if one_of_several and candidate.verdict is not None:
        notes.append(difference(candidate) if candidate.safety == "safe" else saving(candidate.verdict))
    return titled(f"Mend graph break: {plain_title(candidate)}", notes)


def standing(candidate: Candidate) -> str:
    """What is known of a candidate, in a few words; the hover has all reasons."""
    if candidate.verdict is None:
        return "not verified yet"
    if candidate.safety == "unverified":
        return f"not verified: {_first(candidate)}"
    if candidate.safety == "safe":
        accepted = "; ".join(f"assumes that {one.words}, as this project accepts" for one in candidate.verdict.accepted)
        return f"safe: {accepted}" if accepted else "verified safe"
    if assuming := candidate.verdict.assuming:
        return f"unsafe: {assuming}"
    return f"{candidate.safety}: {_first(candidate) or 'results may differ'}"


def _first(candidate: Candidate) -> str:
    reasons = candidate.verdict.reasons if candidate.verdict is not None else ()
    return shortened(reasons[0], _LONGEST) if reasons else ""


def hover(known: Known, client: Client, explain: Callable[[str], str], text: Text | None = None) -> str:
    """All that is known of a finding; `explain` says what a mending rule does, `text` is the document's.

    Ours comes first. Where the editor shows the diagnostic in the same box, what that says is left out.
    """
    site = known.site
    name = f"{site.code}: {site.gb_type}" if site.code != site.gb_type else site.gb_type
    there = inside(site)
    told = f"Graph break {there}. {_sentence(site.reason)}" if there else _sentence(site.reason)
    parts = [f"**Graph break** `{name}`"]
    parts += [] if client.shows_diagnostics_in_hover else [told]
    parts += [_candidate_words(candidate, explain(candidate.mend.rule)) for candidate in known.offered]
    if known.offered and text is not None and (changes := _diff(known.offered[0], text)):
        parts.append(f"```diff\n{changes}\n```" if client.markdown else changes)
    elif not known.offered and (package := package_reached(site)):
        parts.append(f"**Mend:** a copy of {package[0]} in your project (quick fix)")
    elif not known.offered and not client.shows_diagnostics_in_hover and (reason := refusal(known)):
        parts.append(f"**Not mended:** {reason}")
    facts = [] if client.shows_diagnostics_in_hover else [one for one in (cost(site),) if one]
    if site.evidence != "static":
        seen = f"seen {site.events} time{'s' if site.events != 1 else ''} by TorchDynamo{_HOW[site.evidence]}"
        seen += f" in {', '.join(f'`{entry}`' for entry in site.entries)}" if site.entries else ""
        facts.append(seen + (f" ({', '.join(site.modes)})" if site.modes else ""))
    elif not client.shows_diagnostics_in_hover:
        facts.append("found in the source; no run has reached it yet")
    facts += ["seen before your edits; save to run again"] if known.stale else []
    facts += [known.origin] if known.origin and not client.shows_diagnostics_in_hover else []
    if facts:
        parts.append("\n".join(f"- {fact[0].upper()}{fact[1:]}" for fact in facts))
    if known.best is None:  # TorchDynamo's own words, which know of no rule
        if site.explanation and site.explanation.strip() not in site.reason:
            parts.append(_sentence(site.explanation))
        hints = [hint for hint in site.hints if hint.rstrip(".") not in told]
        parts += ["**What to do**\n" + "\n".join(f"- {hint}" for hint in hints)] if hints else []
    if page := page_of(site.code):
        parts.append(f"[About {site.code}]({page})")
    if client.markdown:
        return "\n\n".join(part if part.startswith(("[", "```")) else escaped(part) for part in parts)
    return "\n\n".join(parts).replace("**", "").replace("`", "")


def escaped(words: str) -> str:
    """Words with code between backquotes as Markdown that reads so: ``__init__`` is not bold, ``<lambda>`` no tag."""
    pieces = re.split(r"(`[^`\n]*`)", words)
    return "".join(piece if number % 2 else _MARKS.sub(_with_backslashes, piece) for number, piece in enumerate(pieces))


_MARKS = re.compile(r"(?<!\w)_+|_+(?!\w)|__+|[<\[\]\\]|(?<![*\n])\*(?!\*)")
_DIFF_LINES = 24


def _with_backslashes(found: re.Match[str]) -> str:
    return "".join(f"\\{letter}" for letter in found[0])


def _diff(candidate: Candidate, text: Text) -> str:
    """What a mend changes in its file, as the lines of a diff; empty when that is long, or cannot be told."""
    edits = [edit for edit in candidate.mend.edits if edit.path == candidate.mend.path]
    try:
        after = apply_edits(text.value, edits)
    except OverlappingEditsError:
        return ""
    lines = list(difflib.unified_diff(text.value.splitlines(), after.splitlines(), n=1, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@")) if 0 < len(lines) <= _DIFF_LINES else ""


def package_reached(site: Break) -> tuple[str, str] | None:
    """The installed package in which a break of the user's file really is: its name and its folder."""
    from graphmend_lsp.engine.overlay import package_of

    code = [frame for frame in site.chain if frame.kind == "code"]
    if not code or package_of(site.path) is not None:
        return None
    return package_of(code[-1].path)


def _candidate_words(candidate: Candidate, rule: str) -> str:
    lines = [f"**Mend:** {plain_title(candidate)} ({standing(candidate)})"]
    lines += [f"- {rule}"] if rule else []
    lines += [f"- {change}" for change in (*candidate.mend.changes, *candidate.mend.cautions)]
    verdict = candidate.verdict
    if verdict is not None:
        lines += [f"- {reason}" for reason in verdict.reasons if candidate.safety != "safe"]
        before, after = verdict.before, verdict.after
        lines.append(f"- Graphs {before.graphs} → {after.graphs}, breaks {before.breaks} → {after.breaks}")
        lines.append(f"- {compared(verdict)}")
        lines += [f"- Assumes that {one.words} (`{one.kind}`)" for one in verdict.assumes]
        lines += [f"- Checked: {one.words}" for one in verdict.discharged]
    return "\n".join(lines)


def chain_words(site: Break) -> list[tuple[Frame, str]]:
    """The call chain, outermost first, with words for each link; the shown site itself is left out."""
    links = [frame for frame in site.chain if frame.kind in ("code", "logger")]
    links = [frame for frame in links if (frame.path, frame.span) != (site.path, site.span)]
    innermost = site.chain[-1] if site.chain else None
    return [
        (
            frame,
            f"the graph breaks here, in {frame.function}" if frame is innermost else f"called from {frame.function}",
        )
        for frame in links[-_CHAIN_SHOWN:]
    ]


def _sentence(words: str) -> str:
    words = words.strip()
    return words if not words or words[-1] in ".!?:" else words + "."
