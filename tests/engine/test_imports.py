"""The project's files that an entry may load, and nothing else."""

from pathlib import Path

import pytest

from graphmend_lsp.engine.imports import imports_of, missing_module, program_files

TREE = {
    "pyproject.toml": "",
    "src/lib/__init__.py": "from . import one",
    "src/lib/one.py": "",
    "src/app/__init__.py": "",
    "src/app/main.py": "import os, torch, numpy as np\nfrom .part import thing\nfrom app.other import *\nimport missing.deep",
    "src/app/part.py": "def f():\n    from .inner import late\n    import helper.sub as s",
    "src/app/other.py": "from app import sibling, name_only",
    "src/app/sibling.py": "def broken(:",
    "src/app/unused.py": "",
    "src/app/inner/late.py": "from .. import unused_too",
    "src/app/unused_too.py": "",
    "src/helper/sub.py": "import json",
    "src/helper/other.py": "",
    "src/os.py": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names(found: object, tree: Path) -> set[str]:
    return {Path(path).relative_to(tree / "src").as_posix() for path in found.texts}  # type: ignore[attr-defined]


def test_what_an_entry_imports_is_found_through_packages_and_functions(tree: Path) -> None:
    found = program_files(str(tree / "src/app/main.py"), [], {})
    assert names(found, tree) == {
        "app/__init__.py", "app/main.py", "app/part.py", "app/other.py", "app/sibling.py", "app/inner/late.py",
        "app/unused_too.py", "helper/sub.py", "os.py",
    }  # fmt: skip
    assert found.roots == ()


def test_unsaved_text_is_followed_and_sent(tree: Path) -> None:
    file = str(tree / "src/app/main.py")
    found = program_files(file, [], {file: "import lib", str(tree / "src/lib/one.py"): "import app.unused"})
    assert names(found, tree) == {
        "app/__init__.py", "app/main.py", "lib/__init__.py", "lib/one.py", "app/unused.py"
    }  # fmt: skip
    assert found.texts[file] == "import lib"


def test_a_module_that_was_missed_is_looked_for_in_the_project(tree: Path) -> None:
    (tree / "scripts").mkdir()
    (tree / "scripts/run.py").write_text("import lib")
    file = str(tree / "scripts/run.py")
    assert set(program_files(file, [], {}).texts) == {file}
    found = program_files(file, [], {}, also=("lib",))
    assert set(found.texts) == {file, str(tree / "src/lib/__init__.py"), str(tree / "src/lib/one.py")}
    assert found.roots == (str(tree / "src"),)
    assert program_files(file, [str(tree / "src")], {}).texts == found.texts


def test_an_installed_package_is_not_sent(tmp_path: Path) -> None:
    file = tmp_path / "site-packages" / "pkg" / "m.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    assert program_files(str(file), [], {}).texts == {}


@pytest.mark.parametrize(
    ("message", "module"),
    [
        ("ModuleNotFoundError: No module named 'a.b'", "a.b"),
        ("ImportError: cannot import name 'b' from 'a.c' (/x/a/c/__init__.py)", "a.c.b"),
        ("AssertionError: No module named 'a'", None),
        ("ZeroDivisionError: division by zero", None),
    ],
)
def test_the_missing_module_is_read_from_the_error(message: str, module: str | None) -> None:
    assert missing_module(message) == module


def test_imports_of_what_is_no_program_are_none() -> None:
    assert imports_of("def broken(:") == imports_of("\0") == ()
