"""The .vsix: exactly what belongs in it, and the language server that goes with it."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.editor

FILES = {
    "[Content_Types].xml",
    "extension.vsixmanifest",
    "extension/LICENSE.txt",
    "extension/bundled/graphmend_lsp-VERSION-py3-none-any.whl",
    "extension/changelog.md",
    "extension/icon.png",
    "extension/img/graph-map.png",
    "extension/img/quick-fix.png",
    "extension/out/extension.js",
    "extension/out/map.css",
    "extension/out/map.js",
    "extension/package.json",
    "extension/readme.md",
    "extension/walkthrough/find.md",
    "extension/walkthrough/mend.md",
    "extension/walkthrough/python.md",
}


@pytest.fixture(scope="module")
def package(vsix: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(vsix)


def test_the_package_holds_what_belongs_in_it(package: zipfile.ZipFile) -> None:
    names = {re.sub(r"graphmend_lsp-[0-9.a-z]+-", "graphmend_lsp-VERSION-", name) for name in package.namelist()}
    assert names == FILES


def test_the_bundled_server_is_this_one(package: zipfile.ZipFile) -> None:
    (name,) = [name for name in package.namelist() if name.endswith(".whl")]
    wheel = zipfile.ZipFile(io.BytesIO(package.read(name)))
    inside = set(wheel.namelist())
    assert {"graphmend_lsp/__main__.py", "graphmend_lsp/lsp/__init__.py", "graphmend_lsp/worker/wire.py"} <= inside
    for file in ("map.js", "map.css"):  # the page of the command line and the view of the editor are of the same make
        assert wheel.read(f"graphmend_lsp/report/assets/{file}") == package.read(f"extension/out/{file}")
    schemas = {"graphmend_lsp/report/schema.json", "graphmend_lsp/report/graph_map.schema.json"}
    assert schemas | {"graphmend_lsp/engine/project.schema.json"} <= inside
    assert not [file for file in inside if "/" in file and not file.startswith(("graphmend_lsp/", "graphmend_lsp-"))]


def test_the_extension_names_no_place_of_this_machine(package: zipfile.ZipFile) -> None:
    root = str(Path(__file__).resolve().parents[2])
    for name in package.namelist():
        assert root.encode() not in package.read(name), name


def test_the_pictures_of_its_page_go_along(package: zipfile.ZipFile) -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", package.read("extension/readme.md").decode())
    assert pictures
    for picture in pictures:
        assert package.read(f"extension/{picture}")[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_icon_is_a_png_of_128_pixels(package: zipfile.ZipFile) -> None:
    data = package.read("extension/icon.png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (128, 128)


def test_the_manifest_keeps_restricted_mode_limited(package: zipfile.ZipFile) -> None:
    manifest = json.loads(package.read("extension/package.json"))
    assert manifest["capabilities"]["untrustedWorkspaces"]["supported"] == "limited"
    assert manifest["capabilities"]["virtualWorkspaces"]["supported"] is False
    assert "extensionDependencies" not in manifest
