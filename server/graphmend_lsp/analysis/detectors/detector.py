"""What a detector is: it looks at one expression whose values are known and says whether Dynamo breaks there.

A detector is a module with `ON` (what it is shown), `find`, and a docstring that says what breaks and what does not.
It never walks the program: `flow` shows it every expression that a compiled region can reach, once its parts are known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal, Protocol

from graphmend_lsp.analysis.kinds import Kind

# call: a call; subscript: a subscript that is read; test: an expression whose truth is asked (no and/or/not inside);
# comparison: a comparison; negation: a `not` whose value is kept rather than jumped on.
On = Literal["call", "subscript", "test", "comparison", "negation"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A break at `node`, with what Dynamo calls it."""

    node: ast.expr
    gb_id: str
    gb_type: str
    skips_frame: bool = False


class View(Protocol):
    """What a detector may ask about the parts of its expression."""

    def kind(self, node: ast.expr) -> Kind:
        """What is known of the value of a part that was evaluated."""
        ...

    def dotted(self, node: ast.expr) -> str:
        """The full dotted name of an imported or built-in thing (``torch.nn.functional.relu``), empty for others."""
        ...


class Detector(Protocol):
    """A detector's module."""

    ON: On

    def find(self, node: ast.expr, view: View) -> Hit | None:
        """The break at this expression, if any."""
        ...
