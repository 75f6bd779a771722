"""Make what is published: ``python release.py --repository https://github.com/OWNER/NAME`` writes dist/.

It builds the sdist and the wheel of the server, the wheel of graphmend-runtime, and the .vsix, from what is committed, with the
repository's address in all of them and in the links and pictures of their READMEs. It refuses when versions differ, when a
changelog has nothing for the version, or when something is not committed. It publishes nothing; it prints the commands that do.
Needs `build` and `hatchling` (in the dependency group dev), and Node for the .vsix.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


class RefusedError(Exception):
    """Why nothing is built, in words."""


def versions(root: Path) -> dict[str, str]:
    """Where a version is written, and which one."""
    project = (root / "pyproject.toml").read_text("utf-8")
    module = (root / "server" / "graphmend_lsp" / "__init__.py").read_text("utf-8")
    extension = json.loads((root / "vscode-extension" / "package.json").read_text("utf-8"))
    lock = json.loads((root / "package-lock.json").read_text("utf-8"))
    found = {"pyproject.toml": re.search(r'^version = "(.+)"$', project, re.MULTILINE)}
    found["server/graphmend_lsp/__init__.py"] = re.search(r'^__version__ = "(.+)"$', module, re.MULTILINE)
    read = {place: match[1] if match else "" for place, match in found.items()}
    read["vscode-extension/package.json"] = extension["version"]
    read["package-lock.json"] = lock["packages"]["vscode-extension"]["version"]
    return read


def version_of(root: Path) -> str:
    """The one version of all parts.

    Raises:
        RefusedError: they differ, or a changelog has nothing for it.
    """
    found = versions(root)
    if len(set(found.values())) != 1:
        raise RefusedError("the versions differ: " + ", ".join(f"{place} {one}" for place, one in found.items()))
    version = next(iter(found.values()))
    for place in ("CHANGELOG.md", "vscode-extension/CHANGELOG.md"):
        text = (root / place).read_text("utf-8")
        if re.search(r"^## Unreleased\b", text, re.MULTILINE):
            raise RefusedError(f"{place} has changes that are in no version; name the section Unreleased after it")
        if not re.search(rf"^## {re.escape(version)}\b", text, re.MULTILINE):
            raise RefusedError(f"{place} has no section {version}")
    return version


def absolute(text: str, repository: str, tag: str, folder: str = "") -> str:
    """A Markdown text of a folder of the repository with its relative links and pictures as addresses at a tag."""

    def put(match: re.Match[str]) -> str:
        path, mark, fragment = match[3].partition("#")
        place = os.path.normpath(os.path.join(folder, path)).replace(os.sep, "/") if path else ""
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({repository}/{kind}/{tag}/{place}{mark}{fragment})"

    return _LINK.sub(put, text)


def stamped(root: Path, repository: str) -> Mapping[str, str]:
    """The files that tell where the project lives, by their path, as they are published."""
    tag = f"v{version_of(root)}"
    read = {
        name: (root / name).read_text("utf-8")
        for name in ("pyproject.toml", "runtime/pyproject.toml", "README.md", "runtime/README.md")
    }
    urls = {
        "Repository": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/guide.md",
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    table = "[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in urls.items()) + "\n"
    for name in ("pyproject.toml", "runtime/pyproject.toml"):
        place = read[name].index("[tool.hatch")
        read[name] = read[name][:place] + table + read[name][place:]
    read["README.md"] = absolute(read["README.md"], repository, tag)
    read["runtime/README.md"] = absolute(read["runtime/README.md"], repository, tag, "runtime")
    readme = (root / "vscode-extension" / "README.md").read_text("utf-8")
    read["vscode-extension/README.md"] = absolute(readme, repository, tag, "vscode-extension")
    manifest = json.loads((root / "vscode-extension" / "package.json").read_text("utf-8"))
    manifest |= {
        "homepage": f"{repository}#readme",
        "repository": {"type": "git", "url": f"{repository}.git", "directory": "vscode-extension"},
        "bugs": {"url": f"{repository}/issues"},
    }
    read["vscode-extension/package.json"] = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    return read


def committed(root: Path) -> bytes:
    """What is committed, as a tar.

    Raises:
        RefusedError: something is not.
    """
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    if changed:
        raise RefusedError(f"commit these first:\n{changed}".rstrip())
    return subprocess.run(["git", "archive", "HEAD"], cwd=root, capture_output=True, check=True).stdout


def build(root: Path, repository: str, out: Path, *, extension: bool = True) -> list[Path]:
    """Build all from what is committed in `root` into the folder `out`; the files."""
    version, files = version_of(root), stamped(root, repository)
    archive = committed(root)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(copy, filter="data")
        for name, text in files.items():
            (copy / name).write_text(text, "utf-8")
        python = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out.resolve())]
        subprocess.run(python, cwd=copy, check=True)
        subprocess.run([*python, "--wheel"], cwd=copy / "runtime", check=True)
        if extension:
            (copy / "node_modules").symlink_to((root / "node_modules").resolve())
            package = ["npm", "run", "package", "-w", "vscode-extension", "--"]
            where = str(out.resolve() / f"graphmend-{version}.vsix")
            subprocess.run([*package, where], cwd=copy, check=True, env={**os.environ, "PYTHON": sys.executable})
    return sorted(out.iterdir())


def main() -> int:
    """Build, and print what publishes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repository", required=True, metavar="URL", help="where the source is, as https://HOST/OWNER/NAME"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go (default dist/)")
    options = parser.parse_args()
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", options.repository):
        parser.error("--repository must be an address like https://HOST/OWNER/NAME")
    try:
        files = build(ROOT, options.repository, options.out)
    except RefusedError as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    tag = f"v{version_of(ROOT)}"
    packages = " ".join(str(one) for one in files if one.suffix != ".vsix")
    print(f"git tag {tag} && git push origin {tag}\npython -m twine upload {packages}")
    print("".join(f"npx vsce publish --packagePath {one}\n" for one in files if one.suffix == ".vsix"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
