"""A rule's page, made from its own docstring and examples: for ``graphmend-lsp rules NAME``, the hover and ``docs/rules/``."""

from __future__ import annotations

import inspect

from graphmend_lsp.mending.rule import Rule


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
