"""Who may import whom (docs/ARCHITECTURE.md). Also what a start costs: the server never loads torch, libcst only when it mends."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "server" / "graphmend_lsp"
STDLIB = set(sys.stdlib_module_names) | {"__future__"}

# room -> what it may import besides the standard library and itself
ALLOWED: dict[str, set[str]] = {
    "model": set(),
    "text": {"model"},
    "values": {"model"},
    "notebook": {"model", "text"},
    "analysis": {"model", "text", "notebook"},
    "mending": {"model", "text", "values", "notebook", "libcst"},
    "engine": {"model", "text", "values", "notebook", "analysis", "mending", "worker.wire", "tomli", "platformdirs"},
    "worker": {"torch", "numpy"},
    "support": {"torch"},
    "report": {"model", "text", "mending", "rich", ""},
    "lsp": {"model", "text", "notebook", "analysis", "mending", "engine", "report", "pygls", "lsprotocol", ""},
    "cli": {"cli_arguments", "cli_output", "completion", "model", "text", "engine", "mending", "report", "rich", ""},
    "cli_arguments": {"completion", ""},
    "cli_output": {"model", "engine", "report", "rich"},
    "completion": set(),
    "__main__": {"cli", "lsp"},
    "__init__": set(),
}


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that `path` imports, anywhere in it; modules of the package without ``graphmend_lsp.``."""
    folder = path.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = folder[: len(folder) - node.level + 1]
            names = [
                ".".join(("graphmend_lsp", *base, *([node.module] if node.module else [alias.name])))
                for alias in node.names
            ]
        elif isinstance(node, ast.ImportFrom):
            names = [
                f"{node.module}.{alias.name}" if node.module == "graphmend_lsp" else str(node.module)
                for alias in node.names
            ]
        else:
            continue
        for name in names:
            yield node.lineno, name


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in FILES} == set(ALLOWED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path)
    for line, name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "graphmend_lsp":
            assert parts[0] in STDLIB or parts[0] in ALLOWED[room], f"{path.name}:{line} imports {name}"
            continue
        inner = ".".join(parts[1:])
        if inner.split(".")[0] == room or (inner.startswith("__") and "" in ALLOWED[room]):
            continue
        assert any(inner == may or inner.startswith(f"{may}.") for may in ALLOWED[room] if may), (
            f"{path.name}:{line}: {room} may not import {inner}"
        )


def test_the_wire_imports_the_standard_library_only() -> None:
    names = {name.split(".")[0] for _, name in imports_of(PACKAGE / "worker" / "wire.py")}
    assert names <= STDLIB


@pytest.mark.parametrize("module", ["lsp.server", "engine.session", "cli"])
def test_a_start_loads_neither_torch_nor_libcst(module: str) -> None:
    code = f"import sys, graphmend_lsp.{module}; print([m for m in ('torch', 'libcst', 'rich') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "[]"
