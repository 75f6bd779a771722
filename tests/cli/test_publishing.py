"""What is published: one version everywhere, the project's address in all that is built, and everything that belongs in it."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
HOME = "https://example.org/who/graphmend"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with all files of this one, and a changelog for its version."""
    copy = tmp_path_factory.mktemp("tree")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if name.startswith(("tests/", "bench/", "examples/")) or not (ROOT / name).is_file():
            continue
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    changelog = copy / "CHANGELOG.md"
    changelog.write_text(
        re.sub(r"^## Unreleased$", "## 0.1.0", changelog.read_text("utf-8"), count=1, flags=re.MULTILINE), "utf-8"
    )
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=copy, check=True)
    return copy


def test_one_version_everywhere(release: ModuleType) -> None:
    found = release.versions(ROOT)
    assert len(found) == 4 and len(set(found.values())) == 1, found


CHANGES = {
    "another version": (
        "vscode-extension/package.json",
        '"version": "0.1.0"',
        '"version": "0.1.1"',
        "the versions differ",
    ),
    "no changelog": ("CHANGELOG.md", "## 0.1.0", "## 0.0.9", "CHANGELOG.md has no section 0.1.0"),
    "changes of no version": ("CHANGELOG.md", "## 0.1.0", "## Unreleased", "changes that are in no version"),
    "something new": ("README.md", "# GraphMend", "# GraphMend!", "commit these first"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.slow
def test_what_is_not_ready_is_refused(release: ModuleType, tree: Path, tmp_path: Path, name: str) -> None:
    place, old, new, words = CHANGES[name]
    copy = Path(shutil.copytree(tree, tmp_path / "tree"))
    text = (copy / place).read_text("utf-8")
    assert old in text
    (copy / place).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(release.RefusedError, match=words):
        release.build(copy, HOME, tmp_path / "dist", extension=False)
    assert not (tmp_path / "dist").exists()


LINKS = {
    "![a](docs/img/a.png)": f"![a]({HOME}/raw/v1/docs/img/a.png)",
    "[a](docs/guide.md#b)": f"[a]({HOME}/blob/v1/docs/guide.md#b)",
    "[a](../README.md)": f"[a]({HOME}/blob/v1/README.md)",
    "[a](#b) [a](https://x.org/y) [a](mailto:b)": "[a](#b) [a](https://x.org/y) [a](mailto:b)",
}


@pytest.mark.parametrize("text", LINKS)
def test_links_and_pictures_become_addresses(release: ModuleType, text: str) -> None:
    assert release.absolute(text, HOME, "v1", "runtime" if ".." in text else "") == LINKS[text]


def test_each_link_of_what_is_published_names_a_file(release: ModuleType, tree: Path) -> None:
    files = release.stamped(tree, HOME)
    for name, text in files.items():
        for kind, place in re.findall(rf"\]\({HOME}/(raw|blob)/v0\.1\.0/([^)#]*)", text):
            assert (ROOT / place).exists(), f"{name}: {place}"
            assert kind == "blob" or (ROOT / place).suffix == ".png"
    manifest = json.loads(files["vscode-extension/package.json"])
    assert manifest["repository"]["url"] == f"{HOME}.git"
    assert manifest["bugs"]["url"] == f"{HOME}/issues"
    assert re.search(r"!\[[^\]]+\]\(https://[^)]+\.png\)", files["vscode-extension/README.md"])


@pytest.mark.slow
def test_the_package_has_all_that_belongs_in_it(release: ModuleType, tree: Path, tmp_path: Path) -> None:
    built = {
        one.name.partition("-")[0] + one.suffix: one
        for one in release.build(tree, HOME, tmp_path / "dist", extension=False)
    }
    runtime, wheel, sdist = (built[name] for name in ("graphmend_runtime.whl", "graphmend_lsp.whl", "graphmend_lsp.gz"))
    inside = zipfile.ZipFile(wheel)
    names = set(inside.namelist())
    assert {
        "graphmend_lsp/py.typed",
        "graphmend_lsp/report/assets/map.js",
        "graphmend_lsp/support/graphmend_support.py",
    } <= names
    [metadata] = [inside.read(name).decode() for name in names if name.endswith("METADATA")]
    assert f"Project-URL: Repository, {HOME}" in metadata and f"Project-URL: Issues, {HOME}/issues" in metadata
    for minor in range(10, 15):
        assert f"Classifier: Programming Language :: Python :: 3.{minor}" in metadata
    assert re.findall(r"!\[[^\]]+\]\(([^)]+)\)", metadata)
    assert not re.search(r"\]\((?!https://|#)", metadata), "a link or picture that no package index can show"
    with tarfile.open(sdist) as archive:
        held = archive.getnames()
    assert any(name.endswith("/server/graphmend_lsp/py.typed") for name in held)
    assert any(name.endswith("/CHANGELOG.md") for name in held)
    assert "graphmend_support.py" in zipfile.ZipFile(runtime).namelist()
    # The sdist is whole: what it builds is the wheel.
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
    [folder] = (tmp_path / "sdist").iterdir()
    again = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path / "again")]
    subprocess.run(again, cwd=folder, check=True, capture_output=True)
    [rebuilt] = (tmp_path / "again").iterdir()
    assert set(zipfile.ZipFile(rebuilt).namelist()) == names
