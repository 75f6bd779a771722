"""The rule that CONTRIBUTING.md adds is a rule: its folder is found, and it does what its examples say."""

import importlib
import re
from pathlib import Path

import pytest

from graphmend_lsp.mending import rules
from graphmend_lsp.mending.rule import Declaration, Request
from graphmend_lsp.mending.syntax.break_site import answers_of
from graphmend_lsp.model import Declined, Mend
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

_GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def test_the_guide_s_rule_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared, examples, code = (
        re.sub(r"(?m)^   ", "", block)
        for block in re.findall(r"   ```python\n(.*?)   ```", _GUIDE.read_text("utf-8"), re.S)
    )
    folder = tmp_path / "clone"
    folder.mkdir()
    for name, text in (("__init__", declared), ("examples", examples), ("rule", code)):
        (folder / f"{name}.py").write_text(text, "utf-8")
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    rule = importlib.import_module(f"{rules.__name__}.clone.rule")
    assert isinstance(rule.RULE, Declaration)
    for example in rule.EXAMPLES:
        source, site = unmark(example.before, example.outermost, example.gb_id)
        (mend,) = answers_of("clone", rule.propose, Request(site, {PATH: source}))
        assert isinstance(mend, Mend) and mend.rule == "clone"
        assert apply_edits(source, mend.edits) == example.after
    for refusal in rule.REFUSALS:
        source, site = unmark(refusal.source, refusal.outermost, refusal.gb_id)
        (declined,) = answers_of("clone", rule.propose, Request(site, {PATH: source}))
        assert isinstance(declined, Declined) and refusal.reason in declined.reason
