"""When an only mended program has shown enough: it raises in a call of the entry, or gains nothing. Then no run goes on.

The processes of one request tell each other by a file. What stopped early has fewer calls, of a mend that is declined anyway.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .observe import Observation
from .recipes import Recipe
from .wire import CountsData

FLAG = "enough"


@dataclass(frozen=True)
class Enough:
    """Asked behind each call. `raised` says of the entry's own calls whether the original raised uncompiled; empty in the
    original's processes. `gains_nothing` judges counts of those calls.
    """

    folder: str
    raised: tuple[bool, ...] = ()
    gains_nothing: Callable[[CountsData], bool] | None = None

    def __call__(
        self,
        done: Sequence[Recipe],
        observations: Sequence[Observation],
        counting: Callable[[], tuple[CountsData, Any, Any]] | None = None,
    ) -> bool:
        """Whether the calls that are left need not be made. `counting` counts what those that were made compiled."""
        flag = os.path.join(self.folder, FLAG)
        if os.path.exists(flag):
            return True
        last = len(done) - 1
        if not done[last].own or last >= len(self.raised):
            return False
        worse = observations[last].raised is not None and not self.raised[last]
        if worse or (last == len(self.raised) - 1 and self._is_vain(counting)):
            with open(flag, "w", encoding="utf-8"):
                pass
            return True
        return False

    def _is_vain(self, counting: Callable[[], tuple[CountsData, Any, Any]] | None) -> bool:
        return counting is not None and self.gains_nothing is not None and self.gains_nothing(counting()[0])
