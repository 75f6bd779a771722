"""Writes the pages of the rules and the guide's table from what the rules say of themselves: ``make rules``."""

from pathlib import Path

from graphmend_lsp.mending import rules_by_name
from graphmend_lsp.report.manual import rule_page, rules_table, with_table

DOCS = Path(__file__).parent


def main() -> None:
    for name, rule in rules_by_name().items():
        (DOCS / "rules" / f"{name}.md").write_text(rule_page(rule), "utf-8")
    guide = DOCS / "guide" / "mending.md"
    guide.write_text(with_table(guide.read_text("utf-8"), rules_table()), "utf-8")


if __name__ == "__main__":
    main()
