"""What the runs of this session found, in all files, open or not. Each run replaces what its entries showed before.

Pure but for `DiskTexts`. A finding stays as long as some entry of it has not been run anew; what a run that is under
way has met stands beside what earlier ones found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from graphmend_lsp.lsp.found import Run
from graphmend_lsp.model import Break, Entry, Failure, Finding, Frame
from graphmend_lsp.text import Text


@dataclass(slots=True, eq=False)
class Result:
    """One run that ended: its findings, and the entries that were run (`entries`, by name) and not again since.

    `failures` are shown in open documents, by path. `is_news`: of a run that is under way.
    """

    run: Run
    findings: tuple[Finding, ...]
    entries: dict[str, Entry] = field(default_factory=dict)
    failures: dict[str, tuple[Failure, ...]] = field(default_factory=dict)
    is_news: bool = False

    def without(self, entries: Collection[Entry], files: Collection[str]) -> Result | None:
        """The result without what these entries, and all entries of these files, showed; None when nothing is left."""
        gone = {name for name, entry in self.entries.items() if entry in entries or entry.file in files}
        if not gone and self.entries:
            return self
        left = {name: entry for name, entry in self.entries.items() if name not in gone}
        findings = [
            replace(finding, site=replace(finding.site, entries=stays))
            for finding in self.findings
            if (stays := tuple(name for name in finding.site.entries if name in left))
        ]
        return replace(self, findings=tuple(findings), entries=left) if left else None

    def leading_to(self, path: str) -> set[str]:
        """The files with a note about a break that is shown in this one."""
        here = [finding.site for finding in self.findings if finding.site.path == path]
        return {note.frame.path for site in here for note in notes_of(site)} - {path}


@dataclass(frozen=True, slots=True)
class Note:
    """A place that leads to breaks elsewhere, or (`is_inside`) where a break is that is shown at the user's call."""

    frame: Frame
    sites: tuple[Break, ...]
    is_inside: bool = False


class Results:
    """The results at hand, the oldest first."""

    def __init__(self) -> None:
        self._all: list[Result] = []
        self._reached: dict[str, dict[Entry, str]] = {}

    def __iter__(self) -> Iterator[Result]:
        return iter(self._all)

    def install(self, result: Result, files: Collection[str]) -> None:
        """The result of a run of these files, in the place of all that its entries showed before."""
        entries, folder = set(result.entries.values()), result.run.folder
        others = [one for one in self._without_news(folder) if one.run is not result.run]
        kept = [one.without(entries, files) if one.run.folder == folder else one for one in others]
        self._all = [*(one for one in kept if one is not None), result]
        for finding in result.findings:
            met = [result.entries[name] for name in finding.site.entries if name in result.entries]
            for path in {finding.site.path, *(frame.path for frame in finding.site.chain)}:
                self._reached.setdefault(path, {}).update(dict.fromkeys(met, folder))

    def announce(self, result: Result) -> None:
        """What a run that is under way has met so far."""
        self._all = [*self._without_news(result.run.folder), result]

    def _without_news(self, folder: str) -> list[Result]:
        return [one for one in self._all if not one.is_news or one.run.folder != folder]

    def forget(self, folder: str) -> None:
        """A workspace folder is gone, and with it what its worker found, in whatever file."""
        self._all = [one for one in self._all if one.run.folder != folder]
        self._reached = {
            path: {entry: where for entry, where in reached.items() if where != folder}
            for path, reached in self._reached.items()
        }

    def settle(self, run: Run, finding: Finding) -> set[str]:
        """A finding of a run has its verdicts; the files that show it."""
        for number, one in enumerate(self._all):
            if one.run is run and any(old.site == finding.site for old in one.findings):
                findings = tuple(finding if old.site == finding.site else old for old in one.findings)
                self._all[number] = replace(one, findings=findings)
                return {finding.site.path}
        return set()

    @property
    def runs(self) -> tuple[Run, ...]:
        """Whose findings are known."""
        return tuple(one.run for one in self._all)

    def entries_reaching(self, path: str) -> dict[Entry, str]:
        """The entries of this session's runs that came through a file, as far as their own files are there, each with the
        workspace folder whose worker ran it."""
        return {entry: folder for entry, folder in self._reached.get(path, {}).items() if os.path.isfile(entry.file)}

    def of(self, path: str) -> list[Result]:
        """The results that were about a file: with findings in it, or entries of it."""
        return [
            one
            for one in self._all
            if any(finding.site.path == path for finding in one.findings)
            or any(entry.file == path for entry in one.entries.values())
        ]

    @property
    def paths(self) -> set[str]:
        """The files in which something is shown."""
        return {
            path
            for one in self._all
            for finding in one.findings
            for path in (finding.site.path, *(note.frame.path for note in notes_of(finding.site) if not note.is_inside))
        }

    def notes(self, path: str) -> list[tuple[Run, Note]]:
        """What leads from a file to breaks in others, and the breaks in it that are shown elsewhere; each place once."""
        found: dict[tuple[object, ...], tuple[Run, Note]] = {}
        for one in self._all:
            for finding in one.findings:
                for note in notes_of(finding.site):
                    if note.frame.path != path:
                        continue
                    key = (note.frame.span, note.is_inside)
                    known = found.get(key)
                    sites = note.sites if known is None else tuple(dict.fromkeys((*known[1].sites, *note.sites)))
                    found[key] = one.run, replace(note, sites=sites)
        return list(found.values())


def notes_of(site: Break) -> list[Note]:
    """The places of other files that a break is told at: the call that leads into its file, and where it really is."""
    code = [frame for frame in site.chain if frame.kind == "code"]
    notes: list[Note] = []
    here = [number for number, frame in enumerate(code) if frame.path == site.path]
    outer = [frame for frame in code[: here[-1]] if frame.path != site.path] if here else []
    if outer and not _is_installed(outer[-1].path):
        notes.append(Note(outer[-1], (site,)))
    if code and code[-1].path != site.path:
        notes.append(Note(code[-1], (site,), is_inside=True))
    return notes


def _is_installed(path: str) -> bool:
    from graphmend_lsp.engine.breaks import is_installed

    return is_installed(path)


class DiskTexts:
    """Files as they are on disk, each read once for each time that it is changed."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._known: dict[str, tuple[tuple[int, int], Text | None]] = {}

    def get(self, path: str) -> Text | None:
        """The text of a file now; None when it cannot be read."""
        try:
            told = os.stat(path)
        except (OSError, ValueError):
            self._known.pop(path, None)
            return None
        stamp = (told.st_mtime_ns, told.st_size)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            value = self._read(path)
            known = self._known[path] = (stamp, None if value is None else Text(value))
        return known[1]


def by_name(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """Entries by the name that findings have for them."""
    return {entry.name: entry for entry in entries}
