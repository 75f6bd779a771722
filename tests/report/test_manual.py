"""The pages in docs/rules are what the rules themselves say (`make rules` writes them anew)."""

from pathlib import Path

import pytest

from graphmend_lsp.mending import rules_by_name
from graphmend_lsp.report.manual import rule_page

PAGES = Path(__file__).parents[2] / "docs" / "rules"


@pytest.mark.parametrize("name", rules_by_name())
def test_the_page_is_the_rule_s_own(name: str) -> None:
    rule = rules_by_name()[name]
    page = rule_page(rule)
    assert (PAGES / f"{name}.md").read_text("utf-8") == page
    for section in ("What it does", "Why it costs", "Safety", "When it is refused", "## Examples", "## Declined"):
        assert section in page
    assert "⟦" not in page


def test_there_is_a_page_for_every_rule_and_no_other() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(rules_by_name())
