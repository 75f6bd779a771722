"""The pages in docs/rules are what the rules themselves say (`make rules` writes them anew)."""

from pathlib import Path

import pytest

from graphmend_lsp.mending import rules_by_name
from graphmend_lsp.report.manual import break_page, break_pages, rule_page, rules_table, with_table

PAGES = Path(__file__).parents[2] / "docs" / "rules"


@pytest.mark.parametrize("name", rules_by_name())
def test_the_page_is_the_rule_s_own(name: str) -> None:
    rule = rules_by_name()[name]
    page = rule_page(rule)
    assert (PAGES / f"{name}.md").read_text("utf-8") == page
    for section in ("What it does", "Why it costs", "Safety", "When it is refused", "## Examples", "## Declined"):
        assert section in page
    assert "⟦" not in page


def test_the_guide_s_table_is_made_of_what_the_rules_declare() -> None:
    guide = (PAGES.parent / "guide" / "mending.md").read_text("utf-8")
    assert with_table(guide, rules_table()) == guide
    assert all(f"| [{name}]" in guide for name in rules_by_name())


def test_there_is_a_page_for_every_rule_and_no_other() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(rules_by_name())


@pytest.mark.parametrize("name", break_pages())
def test_the_page_of_a_break_names_the_rules_that_mend_it(name: str) -> None:
    """`isolate` mends what no other rule does and is left out."""
    named = "".join(line for line in break_page(name).splitlines() if line.startswith("**GraphMend**"))
    mends = {rule for rule, one in rules_by_name().items() if any(each.gb_id == name for each in one.examples)}
    assert {rule for rule in mends - {"isolate"} if f"`{rule}`" not in named} == set()
