"""A rule asked of one break in a method of a module, marked ``⟦...⟧``: what it writes, or why it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import DEFAULT_STYLE, Style
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

HEAD = "import torch\n\n\nclass Net(torch.nn.Module):\n"


def method(body: str, arguments: str = "self, x", head: str = HEAD) -> str:
    """The source of a class whose ``forward`` has that body."""
    lines = "".join(f"        {line}\n" if line else "\n" for line in body.rstrip("\n").split("\n"))
    return f"{head}    def forward({arguments}):\n{lines}"


@dataclass(frozen=True)
class Asked:
    """One rule."""

    rule: str
    style: Style = DEFAULT_STYLE

    def answer(self, source: str, rules: tuple[str, ...] | None = None) -> tuple[str, Any]:
        """The source without marks, and what this rule, or those, say of it."""
        value, site = unmark(source)
        return value, propose(site, {PATH: value}, (self.rule,) if rules is None else rules, styles={PATH: self.style})

    def after(self, body: str, arguments: str = "self, x") -> str:
        """The mended body."""
        value, answer = self.answer(method(body, arguments))
        assert answer.mends, [one.reason for one in answer.declined]
        new = apply_edits(value, answer.mends[0].edits)
        head, _, rest = new.partition(f"    def forward({arguments}):\n")
        assert head == HEAD
        return "".join(line.removeprefix("        ") for line in rest.splitlines(keepends=True))

    def reason(self, body: str, arguments: str = "self, x", head: str = HEAD) -> str:
        """Why there is no mend."""
        _, answer = self.answer(method(body, arguments, head))
        assert not answer.mends
        return " ".join(one.reason for one in answer.declined)
