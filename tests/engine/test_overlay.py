"""Mended copies of installed modules: loaded in their place, tied to them, and gone with one folder and one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.findings import overlay_folder
from graphmend_lsp.engine.overlay import (
    IMPORT,
    NAME,
    OverlayError,
    as_overlay,
    make_overlay,
    module_of,
    package_of,
    read_overlay,
    root_of,
    sha256_of,
    with_import,
)
from graphmend_lsp.model import Plan, Report

SITE = "/env/lib/python3.11/site-packages"
INSTALLED = f"{SITE}/kit/model.py"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{SITE}/kit/model.py", "kit.model"),
        (f"{SITE}/kit/__init__.py", "kit"),
        (f"{SITE}/single.py", "single"),
        ("/usr/lib/python3/dist-packages/kit/deep/er.py", "kit.deep.er"),
    ],
)
def test_module_of(path: str, name: str) -> None:
    assert module_of(path) == name


@pytest.mark.parametrize(
    ("path", "package"),
    [
        (f"{SITE}/kit/deep/er.py", ("kit", f"{SITE}/kit")),
        (f"{SITE}/single.py", ("single", f"{SITE}/single.py")),
        ("/home/me/model.py", None),
        (SITE, None),
    ],
)
def test_package_of(path: str, package: tuple[str, str] | None) -> None:
    assert package_of(path) == package


@pytest.mark.parametrize("path", ["/home/me/model.py", f"{SITE}/my-kit/a.py"])
def test_no_module_of_a_package(path: str) -> None:
    with pytest.raises(OverlayError, match="not a module"):
        module_of(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", f"{IMPORT}\nimport torch\n"),
        ('"""Doc."""\nimport torch\n', f'"""Doc."""\n{IMPORT}\nimport torch\n'),
        (
            '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n',
            f'"""Doc."""\nfrom __future__ import annotations\n\n{IMPORT}\nimport os\n',
        ),
        ("# words\n@wraps\ndef f(): ...\n", f"# words\n{IMPORT}\n@wraps\ndef f(): ...\n"),
        ("", f"{IMPORT}\n"),
        ('"""Only words."""', f'"""Only words."""\n{IMPORT}\n'),
        (f"import os\nimport {NAME}\n", f"import os\nimport {NAME}\n"),
        ("import a\r\nimport b\r\n", f"{IMPORT}\r\nimport a\r\nimport b\r\n"),
    ],
)
def test_the_import_comes_first_and_once(before: str, after: str) -> None:
    assert with_import(before) == after
    assert with_import(after) == after


def test_a_file_that_does_not_parse_is_refused() -> None:
    with pytest.raises(OverlayError, match="does not parse"):
        with_import("def f(:\n")


def test_the_overlay_lies_above_the_outermost_package(tmp_path: Path) -> None:
    inner = tmp_path / "src" / "pkg" / "sub"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    assert root_of(str(inner / "model.py")) == str(tmp_path / "src")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    kit = tmp_path / "site-packages" / "kit"
    (kit / "deep").mkdir(parents=True)
    (kit / "__init__.py").write_text("WHO = 'package'\n")
    (kit / "deep" / "__init__.py").write_text("")
    (kit / "deep" / "model.py").write_text("from .. import WHO\nSAYS = 'installed'\n")
    (kit / "data.txt").write_text("data")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text(
        "import kit, kit.deep.model as m, os\n"
        "print(m.SAYS, m.WHO, kit.WHO, os.path.basename(m.__file__), os.path.exists(os.path.join(os.path.dirname(kit.__file__), 'data.txt')))\n"
    )
    return tmp_path


def _write(project: Path, *modules: str) -> None:
    site, main = project / "site-packages", project / "app" / "main.py"
    texts, digests = {}, {}
    for name in modules:
        path = str(site / "kit" / name)
        texts[path] = Path(path).read_text().replace("installed", "mended").replace("package", "mended package")
        digests[path] = sha256_of(path)
    known = read_overlay(str(main.parent / NAME))
    overlay = make_overlay(texts, digests, str(main), main.read_text(), known)
    for path, text in overlay.files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def _run(project: Path, *words: str) -> tuple[str, str]:
    environment = {"PYTHONPATH": str(project / "site-packages"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, *(words or [str(project / "app" / "main.py")])], capture_output=True, text=True, env=environment,
        cwd=project / "app", check=True,
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


def test_copies_are_loaded_in_place_of_the_modules(project: Path) -> None:
    assert _run(project) == ("installed package package model.py True", "")
    _write(project, "deep/model.py")
    assert _run(project) == ("mended package package model.py True", "")


def test_a_package_s_own_module_too_and_copies_add_up(project: Path) -> None:
    _write(project, "deep/model.py")
    _write(project, "__init__.py")
    assert _run(project) == ("mended mended package mended package model.py True", "")
    known = read_overlay(str(project / "app" / NAME))
    assert known is not None
    assert sorted(known.copies) == ["kit", "kit.deep.model"]


def test_a_changed_package_is_used_as_it_is_and_said(project: Path) -> None:
    _write(project, "deep/model.py")
    (project / "site-packages" / "kit" / "deep" / "model.py").write_text("from .. import WHO\nSAYS = 'newer'\n")
    out, err = _run(project)
    assert out == "newer package package model.py True"
    assert "has changed since it was mended" in err
    assert "mend --overlay" in err


def test_an_import_that_comes_too_late_is_said(project: Path) -> None:
    _write(project, "deep/model.py")
    out, err = _run(project, "-c", f"import kit.deep.model as m, {NAME}; print(m.SAYS)")
    assert out == "installed"
    assert "imported after kit.deep.model" in err


def test_without_the_folder_and_the_line_all_is_as_before(project: Path) -> None:
    import shutil

    _write(project, "deep/model.py")
    main = project / "app" / "main.py"
    shutil.rmtree(main.parent / NAME)
    main.write_text(main.read_text().replace(IMPORT + "\n", ""))
    assert _run(project) == ("installed package package model.py True", "")


def _plan(project: Path, old: str | None = None) -> tuple[Plan, str, str]:
    installed, main = str(project / "site-packages" / "kit" / "deep" / "model.py"), str(project / "app" / "main.py")
    now = Path(installed).read_text()
    nothing = Report(None, None, None, (), ())
    texts = {installed: now.replace("installed", "mended")}
    return Plan(nothing, nothing, (), texts, None, {installed: old or now}), installed, main


def test_the_program_is_the_text_that_is_not_saved(project: Path) -> None:
    plan, _, main = _plan(project)
    overlay = as_overlay(plan, [main], {main: "import kit\n"})
    assert overlay.texts[main] == f"{IMPORT}\nimport kit\n"
    assert overlay.old[main] == "import kit\n"


def test_a_package_that_changed_while_it_was_mended_is_refused(project: Path) -> None:
    plan, installed, main = _plan(project, "as it was\n")
    with pytest.raises(OverlayError, match=f"{installed} changed during mending"):
        as_overlay(plan, [main])


def test_a_folder_of_the_user_s_own_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "__init__.py").write_text("x = 1\n")
    with pytest.raises(OverlayError, match="GraphMend did not make it"):
        read_overlay(str(folder))
    assert read_overlay(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("entries", "asked", "folder"),
    [
        (["/p/app/main.py"], CheckRequest(("/p/app/main.py",), packages=True), "/p/app"),
        ([INSTALLED, "/p/app/main.py"], CheckRequest((), packages=True), "/p/app"),
        ([INSTALLED], CheckRequest((), packages=True), f"{SITE}/kit"),
        ([INSTALLED], CheckRequest((INSTALLED,), packages=True), None),
        (["/p/app/main.py"], CheckRequest(("/p/app/main.py",)), None),
        ([], CheckRequest((), packages=True), None),
    ],
)
def test_copies_lie_beside_a_program_of_the_user_s_where_there_is_one(
    entries: list[str], asked: CheckRequest, folder: str | None
) -> None:
    assert overlay_folder(entries, asked) == folder
