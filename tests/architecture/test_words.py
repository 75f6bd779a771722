"""The words that a user reads: plain English, the field's terms, short titles.

Texts are found where they are written: string literals of the server outside of docstrings, the examples' refusals, the documents,
the pages about kinds of breaks, and the extension's manifest.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphmend_lsp

SERVER = Path(graphmend_lsp.__file__).parent
ROOT = SERVER.parents[1]
LONGEST_TITLE = 80
HEAD = "Mend graph break: "
LONGEST_REASON = 320
DOCUMENTS = ("README.md", "CHANGELOG.md", "docs/guide.md", "docs/glossary.md", "docs/editors.md", "docs/security.md")
FOLDERS = ("docs/guide", "docs/rules", "server/graphmend_lsp/pages")
EXTENSION = ("vscode-extension/README.md", "vscode-extension/CHANGELOG.md")
REASONS = frozenset(("Refused", "Declined", "Failure", "Refusal", "Advice", "RpcError"))

BANNED = {
    "is told": r"\b(?:is|are|was|were|be|been) told\b",
    "comes to": r"\b(?:comes?|came) to (?!a\b|the (?:call|place)|it\b)",
    "again and again": r"\bagain and again\b",
    "at its place": r"\bat its place\b",
    "as a pronoun: one": r"\bone's\b|\bthe chosen one\b|, one (?:may|can|must|asks|gets)\b",
    "archaic": r"\b(?:anew|thereof|whence|thence|in vain|for want of|the like of|nought|perchance|withal|ere)\b",
    "behind and in front of, for after and before": r"\b(?:stands?|standing) (?:behind|in front of)\b",
    "translated": r"\b(?:is passed over|the other way round|made use of|has its say|whose business|at hand|in one go)\b",
    "prove, for verify": r"\b(?:proven?|proving|unproven)\b",
}
ALLOWED = re.compile(r"--prove\b|`prove`|check --prove|is proven there")


def said(words: str) -> list[str]:
    """The banned phrases in a text."""
    words = ALLOWED.sub("", words)
    return [
        f"{name}: …{words[max(m.start() - 30, 0) : m.end() + 30]}…"
        for name, find in BANNED.items()
        for m in re.finditer(find, words)
    ]


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts of a module that may be read by a user: of three words or more, no docstrings; what is filled in is `{}`."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    docs |= {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        text = text_of(node)
        if text is not None and id(node) not in docs | parts and len(re.findall(r"[A-Za-z]{2,}", text)) > 2:
            yield getattr(node, "lineno", 0), text


def text_of(node: ast.AST) -> str | None:
    """A string or f-string, its fields as `{}`."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
            for part in node.values
        )
    return None


def modules() -> Iterator[Path]:
    return (path for path in sorted(SERVER.rglob("*.py")) if path.name not in ("examples.py", "trees_examples.py"))


@pytest.mark.parametrize("room", sorted({path.relative_to(SERVER).parts[0] for path in modules()}))
def test_no_message_uses_words_that_nobody_says(room: str) -> None:
    found = [
        f"{path.relative_to(SERVER)}:{line}: {why}"
        for path in modules()
        if path.relative_to(SERVER).parts[0] == room
        for line, text in literals(ast.parse(path.read_text("utf-8")))
        if "\n" not in text.strip()
        for why in said(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", [*DOCUMENTS, *FOLDERS, *EXTENSION])
def test_no_document_uses_words_that_nobody_says(name: str) -> None:
    path = ROOT / name
    files = sorted(path.glob("*.md")) if path.is_dir() else [path]
    assert files
    found = [f"{file.name}: {why}" for file in files for why in said(prose(file.read_text("utf-8")))]
    assert not found, "\n".join(found)


def prose(markdown: str) -> str:
    """A document without its code, on one line."""
    return " ".join(re.sub(r"```.*?```", "", markdown, flags=re.S).split())


def test_the_extension_s_settings_and_commands_use_plain_words() -> None:
    manifest = json.loads((ROOT / "vscode-extension/package.json").read_text("utf-8"))
    assert [why for text in strings(manifest["contributes"]) for why in said(text)] == []


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield name, node


def test_titles_are_short() -> None:
    found = []
    for path in modules():
        for name, call in calls(ast.parse(path.read_text("utf-8"))):
            if name not in ("Mend", "CodeAction", "Command"):
                continue
            for node in [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "title")]:
                text = text_of(node)
                if text is not None and len(HEAD) * (name == "Mend") + len(text) > LONGEST_TITLE:
                    found.append(f"{path.relative_to(SERVER)}:{call.lineno}: {text}")
    assert not found, "\n".join(found)


def test_reasons_are_sentences_of_readable_length() -> None:
    found = [
        f"{path.relative_to(SERVER)}:{call.lineno}: {text}"
        for path in modules()
        for name, call in calls(ast.parse(path.read_text("utf-8")))
        if name in REASONS
        for node in call.args
        if (text := text_of(node)) is not None and len(text) > LONGEST_REASON
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the message is told at the end", "is told"),
        ("4 by mends that are told to be unsafe", "is told"),
        ("run this (again and again)", "again and again"),
        ("compile the function anew", "archaic"),
        ("only mends that were proven", "prove, for verify"),
        ("another break stands behind this one", "behind and in front of, for after and before"),
    ],
)
def test_what_is_banned_is_found(text: str, name: str) -> None:
    assert [why.partition(": …")[0] for why in said(text)] == [name]


def test_literals_are_found_and_docstrings_are_not() -> None:
    tree = ast.parse(
        '"""It is told here."""\nX = "one two three"\ndef f(y):\n    """Told."""\n    return f"what {y} is told"\n'
    )
    assert [text for _, text in literals(tree)] == ["one two three", "what {} is told"]
