"""A rule's page, made from its own docstring and examples: for ``graphmend-lsp rules NAME``, the hover and ``docs/rules/``.

And the pages about kinds of graph breaks, one Markdown file for each of PyTorch's ids that people meet, in ``pages/``.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path

from graphmend_lsp.mending.rule import Rule

PAGES = Path(__file__).resolve().parent.parent / "pages"


def rule_page(rule: Rule) -> str:
    """The page in Markdown."""
    parts = [f"# {rule.NAME}", _sections(inspect.cleandoc(rule.__doc__ or ""))]
    parts.append("## Examples")
    for example in rule.EXAMPLES:
        parts += [f"### {example.title}", _code(unmarked(example.before)), "becomes", _code(example.after)]
    parts.append("## Declined")
    for refusal in rule.REFUSALS:
        parts += [f"### {refusal.title}", _code(unmarked(refusal.source)), f"“… {refusal.reason} …”"]
    return "\n\n".join(parts) + "\n"


@cache
def break_pages() -> tuple[str, ...]:
    """The ids that have a page, in order."""
    return tuple(sorted(path.stem for path in PAGES.glob("GB*.md")))


def break_page(gb_id: str) -> str:
    """The page about a kind of graph break, in Markdown.

    Raises:
        KeyError: there is none for this id.
    """
    if gb_id not in break_pages():
        raise KeyError(gb_id)
    return (PAGES / f"{gb_id}.md").read_text("utf-8")


def _sections(words: str) -> str:
    """A docstring's sections (a title, its text indented below) as Markdown headings and paragraphs."""
    lines = words.splitlines()
    out = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        title = line and not line.startswith(" ") and following.startswith("    ")
        out.append(f"## {line}\n" if title else line.removeprefix("    "))
    return "\n".join(out)


def unmarked(source: str) -> str:
    """An example's source without the marks around the break."""
    return source.replace("⟦", "").replace("⟧", "")


def _code(source: str) -> str:
    return f"```python\n{source.strip(chr(10))}\n```"
