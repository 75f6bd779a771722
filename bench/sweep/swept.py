"""The rows of a sweep: plain data, kept as JSON, one row a line, so that a sweep that is stopped loses none."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mended import Row, row_from  # noqa: E402

Outcome = Literal["no input", "fails", "whole", "mended", "fewer", "stays"]


@dataclass(frozen=True, slots=True)
class Swept:
    """One file of a package. `entry` is what was run (empty: nothing could be); `late`: mending took longer than it may."""

    name: str
    half: str
    version: str
    entry: str
    late: bool
    seconds: float
    row: Row

    @classmethod
    def nothing(cls, name: str, half: str, version: str) -> Swept:
        """The row of a file that has nothing to run."""
        return cls(
            name, half, version, "", False, 0.0, Row(half, name, version, "", (), (), (0, 0, 0), (0, 0, 0), (), ())
        )

    @property
    def before(self) -> int:
        """Breaks that the run met."""
        return self.row.before[1]

    @property
    def after(self) -> int:
        """Breaks that are left. A call of what `isolate` put behind `torch.compiler.disable` is a break, and counted as such."""
        return self.row.after[1]

    @property
    def outcome(self) -> Outcome:
        """How far the file is mended.

        ``no input``: nothing could be run; ``fails``: what was run raises; ``whole``: no break; ``mended``: none left after
        safe mends; ``fewer``: safe mends leave fewer; ``stays``: as many as before.
        """
        if not self.entry:
            return "no input"
        if self.row.failure:
            return "fails"
        if not self.before:
            return "whole"
        if not self.after:
            return "mended"
        return "fewer" if self.after < self.before else "stays"

    @property
    def line(self) -> str:
        """The row as a line for a terminal."""
        late = ", out of time" * self.late
        return (
            f"{self.half:<5}{self.name:<64}{self.outcome:<9}{self.before:>4}{self.after:>4}{self.seconds:>8.1f} s{late}"
        )


def append(file: Path, row: Swept) -> None:
    """Add a row to a file."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def read(file: Path | None) -> list[Swept]:
    """The rows of a file, none where there is no such file; of two with one name the later counts."""
    if file is None or not file.exists():
        return []
    rows: dict[str, Swept] = {}
    for line in file.read_text("utf-8").splitlines():
        if not line.endswith("}"):  # cut off while it was written
            continue
        data = json.loads(line)
        rows[data["name"]] = Swept(**{**data, "row": row_from(data["row"])})
    return list(rows.values())
