"""The state of walking through one function: what each name holds now, what was found, called, returned and asked.

Data and small moves on it; the walking itself is in `statements` and `expressions`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphmend_lsp.analysis.detectors.detector import Detector, Hit
from graphmend_lsp.analysis.kinds import UNKNOWN, Kind, join
from graphmend_lsp.analysis.outline import Function

Environment = dict[str, Kind]
# ("name", global), ("attr", class, attribute), ("return", function), ("const", global): see `reach`.
Question = tuple[str, ...]
Ask = Callable[[Question], Kind]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of this file: the kinds of its arguments by position and by keyword.

    `known` is False when the arguments cannot be matched (a `*`, or the function was only passed on).
    """

    callee: str
    positional: tuple[Kind, ...] = ()
    keywords: tuple[tuple[str, Kind], ...] = ()
    known: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A hit where it stands: in which kind of block that costs the frame (``loop``, ``try``, ``context`` or none)."""

    hit: Hit
    inside: str


@dataclass(slots=True)
class Scope:
    """One walk through one function."""

    function: Function | None
    ask_world: Ask
    detectors: Mapping[str, tuple[Detector, ...]]
    names: Environment = field(default_factory=dict)
    kinds: dict[int, Kind] = field(default_factory=dict)
    asked: dict[Question, Kind] = field(default_factory=dict)
    found: dict[tuple[int, str], Found] = field(default_factory=dict)
    calls: dict[Call, None] = field(default_factory=dict)
    returns: list[Kind] = field(default_factory=list)
    stores: dict[str, Kind] = field(default_factory=dict)
    blocks: list[tuple[str, ast.stmt]] = field(default_factory=list)
    exits: list[list[Environment]] = field(default_factory=list)
    quiet: int = 0

    def ask(self, *question: str) -> Kind:
        """What the rest of the file says to a question; remembered as what this walk depends on."""
        answer = self.asked.get(question)
        if answer is None:
            answer = self.asked[question] = self.ask_world(question)
        return answer

    def kind(self, node: ast.expr) -> Kind:
        """What is known of an evaluated expression."""
        return self.kinds.get(id(node), UNKNOWN)

    def dotted(self, node: ast.expr) -> str:
        """The dotted name of an evaluated expression that is imported or built in."""
        kind = self.kinds.get(id(node))
        return kind.name if kind is not None and kind.tag == "ref" else ""

    def show(self, on: str, node: ast.expr) -> None:
        """Show an expression to the detectors for it."""
        if self.quiet:
            return
        for detector in self.detectors.get(on, ()):
            hit = detector.find(node, self)
            if hit is not None:
                self.found.setdefault((id(hit.node), hit.gb_id), Found(hit, self._inside(hit.node)))
                return

    def store(self, attribute: str, kind: Kind) -> None:
        """Remember what was stored in an attribute of `self`, for the class."""
        known = self.stores.get(attribute)
        self.stores[attribute] = kind if known is None else join(known, kind)

    def _inside(self, node: ast.expr) -> str:
        """The block around a place that costs the whole frame, in Dynamo's order of asking."""
        kinds = {kind for kind, _ in self.blocks}
        for kind in ("context", "try"):
            if kind in kinds:
                return kind
        return "loop" if any(kind == "loop" and not _leaves(loop, node) for kind, loop in self.blocks) else ""


def _leaves(loop: ast.stmt, node: ast.expr) -> bool:
    """Whether a `return` stands behind `node` in the loop: Dynamo looks for the jump back only up to it."""
    after = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    return any(isinstance(part, ast.Return) and (part.lineno, part.col_offset) >= after for part in ast.walk(loop))


def merge(left: Environment, right: Environment) -> Environment:
    """What is known after either path. A name bound on one path only keeps what that path knows: Python reads it
    later only when that path was taken; an attribute falls back to what its class knows.
    """
    if left == right:
        return left
    merged = {name: kind for name, kind in right.items() if name not in left and "." not in name}
    for name, kind in left.items():
        if name in right:
            merged[name] = join(kind, right[name])
        elif "." not in name:
            merged[name] = kind
    return merged


def path_of(node: ast.expr) -> str:
    """The name under which an expression is remembered: ``x`` or ``self.x``; empty for everything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""
