"""`mending/` has four layers, each of which knows only those before it; rules know nothing of each other but what is named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

MENDING = Path(__file__).parents[2] / "server" / "graphmend_lsp" / "mending"
LAYERS = ("rule", "syntax", "facts", "lowering", "rules")

# A rule that knows another rule, and why.
KNOWN_PAIRS: dict[tuple[str, str], str] = {}

FILES = sorted(path for path in MENDING.rglob("*.py") if path.parent != MENDING or path.name == "rule.py")


def imported(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The line of each import of `mending`, and what is imported, without ``graphmend_lsp.mending``."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphmend_lsp.mending"):
            inner = tuple((node.module or "").split(".")[2:])
            for alias in node.names:
                yield node.lineno, (*inner, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("graphmend_lsp.mending."):
                    yield node.lineno, tuple(alias.name.split(".")[2:])


def layer_of(path: Path) -> str:
    return path.relative_to(MENDING).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(MENDING)))
def test_a_layer_knows_only_those_before_it(path: Path) -> None:
    own = LAYERS.index(layer_of(path))
    for line, parts in imported(path):
        assert parts[0] in LAYERS, f"{path.name}:{line} imports {'.'.join(parts)}, which is in no layer"
        assert LAYERS.index(parts[0]) <= own, f"{path.name}:{line}: {LAYERS[own]} may not know {'.'.join(parts)}"


def test_rules_know_each_other_only_where_that_is_explained() -> None:
    pairs = {
        (path.parent.name, parts[1])
        for path in FILES
        if layer_of(path) == "rules"
        for _, parts in imported(path)
        if parts[0] == "rules" and parts[1] != path.parent.name
    }
    assert pairs == set(KNOWN_PAIRS)


def test_a_rule_is_a_folder_with_its_examples() -> None:
    for folder in (MENDING / "rules").iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert (folder / "rule.py").is_file(), folder.name
            assert list(folder.glob("*examples.py")), folder.name


MOST_LINES = 60
"""Of a function, its docstring included."""

MOST_LINES_OF_A_FILE = 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(MENDING)))
def test_files_and_functions_stay_short(path: Path) -> None:
    if path.name.endswith("examples.py"):
        return
    text = path.read_text("utf-8")
    assert text.count("\n") <= MOST_LINES_OF_A_FILE, "split it where one name describes a part of it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < MOST_LINES, f"{node.name} has too many lines"
