"""A rule's page, made from its own docstring and examples: for ``graphmend-lsp rules NAME``, the hover and ``docs/rules/``.

And the pages about kinds of graph breaks, one Markdown file for each of PyTorch's ids that people meet, in ``pages/``.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path

from graphmend_lsp.mending import DECLARATIONS, Rule

PAGES = Path(__file__).resolve().parent.parent / "pages"


def rule_page(rule: Rule) -> str:
    """The page in Markdown."""
    parts = [f"# {rule.declaration.name}", _sections(inspect.cleandoc(rule.doc))]
    parts.append("## Examples")
    for example in rule.examples:
        parts += [f"### {example.title}", _code(unmarked(example.before)), "becomes", _code(example.after)]
    parts.append("## Declined")
    for refusal in rule.refusals:
        parts += [f"### {refusal.title}", _code(unmarked(refusal.source)), f"“… {refusal.reason} …”"]
    return "\n\n".join(parts) + "\n"


def rules_table() -> str:
    """The guide's table of all rules, in Markdown, made of what they declare."""
    rows = [f"| [{one.name}](../rules/{one.name}.md) | {one.what_breaks} | {one.becomes} |\n" for one in DECLARATIONS]
    return "| rule | what breaks | what it becomes |\n|---|---|---|\n" + "".join(rows)


def with_table(page: str, table: str) -> str:
    """The guide's page with that table of the rules in the place of the one that it has.

    Raises:
        ValueError: when the page has no such table.
    """
    head, found, rest = page.partition("| rule | what breaks |")
    if not found:
        raise ValueError("the page has no table of the rules")
    lines = (found + rest).splitlines(keepends=True)
    end = next((index for index, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return head + table + "".join(lines[end:])


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
