"""Which share of a tree's entries one machine of many runs: the same cut on all of them, told of nothing but the numbers."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphmend_lsp.model import Entry, Mode, ShardMark


class BadShardError(ValueError):
    """What the user wrote is no shard, or no file of known times; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `count`. `seconds` are known times of entries, which balance the parts.

    Runs of which `together` gives the same word (by their `key_name`) are never in different parts.
    """

    number: int
    count: int
    seconds: Mapping[str, float] | None = None
    together: Mapping[str, str] | None = None

    def share(self, keys: Sequence[tuple[Entry, Mode]], folder: str) -> list[tuple[Entry, Mode]]:
        """This part's entries, in the order given. Every part of the same keys, folder and times agrees on the cut.

        Paths count from `folder`, so that machines with the tree in different places agree too.
        """
        named = {key_name(entry, mode, folder): (entry, mode) for entry, mode in keys}
        known = {name: self.seconds[name] for name in named if name in self.seconds} if self.seconds else {}
        usual = sum(known.values()) / len(known) if known else 1.0
        groups: dict[str, list[str]] = {}
        for name in sorted(named):
            groups.setdefault((self.together or {}).get(name, name), []).append(name)
        weights = {min(names): sum(max(known.get(name, usual), 0.001) for name in names) for names in groups.values()}
        members = {min(names): names for names in groups.values()}
        load = [0.0] * self.count
        mine: set[tuple[Entry, Mode]] = set()
        for name in sorted(weights, key=lambda name: (-weights[name], _digest(name), name)):
            least = min(range(self.count), key=lambda part: (load[part], part))
            load[least] += weights[name]
            if least == self.number - 1:
                mine.update(named[one] for one in members[name])
        return [key for key in keys if key in mine]

    def mark(self, keys: Sequence[tuple[Entry, Mode]], folder: str) -> ShardMark:
        """Which part this is, and a digest of what was cut and how: the parts of one check have the same."""
        named = tuple(key_name(entry, mode, folder) for entry, mode in keys)
        times = sorted((self.seconds or {}).items())
        groups = [] if self.together is None else [sorted((name, self.together.get(name, name)) for name in named)]
        cut = json.dumps([self.count, sorted(named), times, *groups])
        return ShardMark(self.number, self.count, hashlib.sha256(cut.encode()).hexdigest()[:16], named)


def parse_shard(written: str, times: str | None = None) -> Shard:
    """``I/N`` as a user writes it; `times` is the path of an earlier record of a check.

    Raises:
        BadShardError: not of that form, or the file is no such record.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", written)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise BadShardError(f"{written!r} is not a shard. Write it as I/N, from 1/N to N/N.")
    return Shard(int(found[1]), int(found[2]), None if times is None else known_seconds(times))


def known_seconds(path: str) -> dict[str, float]:
    """How long each entry took, from the record of an earlier check (``--json``).

    Raises:
        BadShardError: it is no such record.
    """
    try:
        record = json.loads(Path(path).read_text("utf-8"))
        return {
            _name(one["file"], one["function"], one["kind"], one["mode"], record["root"]): float(one["seconds"])
            for one in record["entries"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadShardError(f"{path} is not a record of graphmend-lsp check --json: {error!r}.") from error


def key_name(entry: Entry, mode: Mode, folder: str) -> str:
    """An entry's run as one word that is the same wherever the tree lies: ``pkg/m.py:function (eval)``."""
    return _name(entry.file, entry.function, entry.kind, mode, folder)


def _name(file: str, function: str, kind: str, mode: str, folder: str) -> str:
    try:
        path = os.path.relpath(file, folder)
    except ValueError:  # another drive
        path = file
    return f"{path.replace(os.sep, '/')}:{function}{'' if kind == 'function' else f' {kind}'} ({mode})"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
