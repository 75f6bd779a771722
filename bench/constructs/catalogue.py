"""The constructs: small programs by topic, each a public function of tensors or a module of a file in `programs/`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
INPUTS = {"x": "torch.arange(1.0, 5.0)", "other": "torch.ones(4)"}
"""What a parameter of this name is called with; parameters with defaults are left out."""


@dataclass(frozen=True)
class Construct:
    """One program: `lines` (first and last, 1-based) of a topic's text, and the entry that runs it."""

    topic: str
    name: str
    lines: tuple[int, int]
    entry: str

    @property
    def source(self) -> str:
        """The topic's text with this construct's entry at its end."""
        return f"{topic_text(self.topic)}\n\n{self.entry}"


def topic_text(topic: str) -> str:
    """The text of a topic's file."""
    return (PROGRAMS / f"{topic}.py").read_text("utf-8")


@cache
def constructs(topic: str = "*") -> tuple[Construct, ...]:
    """Every construct (of one topic), by topic and in the order of its file."""
    return tuple(one for path in sorted(PROGRAMS.glob(f"{topic}.py")) for one in _of_topic(path.stem))


def _of_topic(topic: str) -> list[Construct]:
    found = []
    for node in ast.parse(topic_text(topic)).body:
        if isinstance(node, ast.FunctionDef):
            function = node
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            function = next((one for one in methods if one.name == "forward"), None)
        else:
            continue
        if function is None or not _is_program(node, function):
            continue
        called = f"{node.name}()" if isinstance(node, ast.ClassDef) else node.name
        arguments = "".join(f"{INPUTS[name]}, " for name in _required(function) if name != "self")
        entry = f"def graphmend_entry():\n    return {called}, ({arguments.strip()})\n"
        found.append(Construct(topic, node.name, (node.lineno, node.end_lineno or node.lineno), entry))
    return found


def _is_program(node: ast.FunctionDef | ast.ClassDef, function: ast.FunctionDef) -> bool:
    """Whether a definition is a construct and no part of another: undecorated, and called with tensors."""
    names = [name for name in _required(function) if name != "self"]
    helper = any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(function)) or node.name == "part"
    return bool(names) and not node.decorator_list and not helper and all(name in INPUTS for name in names)


def _required(function: ast.FunctionDef) -> list[str]:
    names = [one.arg for one in function.args.args]
    return names[: len(names) - len(function.args.defaults)]
