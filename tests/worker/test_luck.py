"""Sides that only other random numbers take: a call may begin with other random numbers where a side was not seen."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

from graphmend_lsp.worker.effects import Listener
from graphmend_lsp.worker.observe import Subject, draws, observe
from graphmend_lsp.worker.plan import choose
from graphmend_lsp.worker.probe import watch_conditions
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.snapshot import Store
from graphmend_lsp.worker.wire import Place

HEAD = "import random\nimport torch\n\ndef program(x):\n"
CONDITIONS = {
    "torch.rand(1).item() < 0.9": "torch",
    "torch.rand(1).item() < 0.1": "torch",
    "random.random() < 0.1": "Python",
    "torch.rand(()) < 2": "",
    "x.sum() > 1e6": "",
}


def loaded(folder: Path, condition: str) -> tuple[Any, Place]:
    text = f"{HEAD}    if {condition}:\n        return x * 2\n    return x\n"
    file = folder / "program.py"
    file.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location("drawing_program", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (test,) = (one.test for one in ast.walk(ast.parse(text)) if isinstance(one, ast.If))
    assert test.end_lineno is not None
    place = Place(
        file=str(file), line=test.lineno, column=test.col_offset, end_line=test.end_lineno,
        end_column=test.end_col_offset,
    )  # fmt: skip
    return module, place


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.slow
def test_a_side_that_a_random_number_chooses_is_reached(tmp_path: Path, condition: str) -> None:
    module, place = loaded(tmp_path, condition)
    sides = watch_conditions([place], lambda file: Path(file).read_text("utf-8"))
    calls = [((torch.ones(3),), {})]
    plan, _, _ = choose(Subject(module.program, {}, (module,)), calls, sides, Listener(), Store(), 60.0)
    lucky = [recipe for recipe in plan.recipes if recipe.luck]
    assert [recipe for number, recipe in enumerate(plan.recipes) if number in plan.telling and recipe.luck] == lucky
    assert bool(lucky) == (CONDITIONS[condition] != "")
    assert sides.complete == (condition != "torch.rand(()) < 2"), "1e6 is reached by other values"
    assert all("with other random numbers" in recipe.label for recipe in lucky)


@pytest.mark.parametrize(
    ("program", "drawn"),
    [(lambda x: x + torch.rand(3), True), (lambda x: x + torch.rand(3, generator=torch.Generator()), False), (lambda x: x, False)],
)  # fmt: skip
def test_which_calls_draw_and_that_luck_changes_what(program: Any, drawn: bool) -> None:
    store, subject = Store(), Subject(program, {}, ())
    seen = [observe(subject, "call", (torch.ones(3),), {}, store, Listener(), luck) for luck in (0, 1, 1)]
    assert draws(seen[0]) is drawn
    assert (seen[0].parts["output"] != seen[1].parts["output"]) is drawn
    assert seen[1].parts["output"] == seen[2].parts["output"]


def test_a_recipe_says_that_its_random_numbers_are_others() -> None:
    assert Recipe(0, luck=2).label == "call 1 with other random numbers (2)"
    assert Recipe(0, luck=2).use == "other random numbers"
