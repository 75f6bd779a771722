"""What is known of clients by their names, where they do not do what they say, or say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.lsp.client import read_client

ENCODINGS: list[tuple[str, dict[str, Any], Any, str]] = [
    ("lsp-mode 8", {"name": "emacs", "version": "GNU Emacs 28.2 (build 1)"}, None, "utf-32"),
    ("lsp-mode 9", {"name": "emacs", "version": "GNU Emacs 30.1"}, ["utf-16", "utf-32"], "utf-16"),
    ("another client of Emacs", {"name": "emacs", "version": "lsp-bridge"}, None, "utf-16"),
    ("eglot", {"name": "Eglot"}, None, "utf-16"),
    ("nobody", {}, None, "utf-16"),
]


@pytest.mark.parametrize(("client", "info", "offered", "encoding"), ENCODINGS)
def test_the_encoding_is_the_one_that_the_client_counts_in(
    client: str, info: dict[str, Any], offered: Any, encoding: str
) -> None:
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    assert read_client({"clientInfo": info, "capabilities": general}).encoding == encoding


@pytest.mark.parametrize(("name", "pulls"), [("Visual Studio Code", True), ("Neovim", False), (None, True)])
def test_neovim_is_told_of_diagnostics_also_where_it_could_ask(name: str | None, pulls: bool) -> None:
    able = {"workspace": {"diagnostics": {"refreshSupport": True}}, "textDocument": {"diagnostic": {}}}
    params = {"clientInfo": {"name": name}, "capabilities": able}
    assert read_client(params).pulls_diagnostics is pulls
