"""Mended copies of installed modules in the user's own project, loaded in their place by a small generated import hook.

The installed package stays as it is. Each copy is tied to the SHA-256 of the file it was made from. Pure but for
`as_overlay`, `read_overlay` and `sha256_of`, which read files.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from graphmend_lsp.engine.breaks import is_installed
from graphmend_lsp.engine.files import UnreadableSourceError, read_source
from graphmend_lsp.mending.rule import OVERLAY
from graphmend_lsp.model import Plan

NAME = OVERLAY
IMPORT = f"import {NAME}  # isort: skip  # noqa: F401  mended copies of installed modules; keep this first"
_TABLE = re.compile(r"^COPIES = (\{.*?^\})$", re.MULTILINE | re.DOTALL)

_HOOK = '''"""Mended copies of modules of installed packages. Import this module before those packages.

Each copy was made from the file with the SHA-256 given below. When the installed file is another one (another version was
installed), the installed module is used and a warning says so: mend again. To go back for good, delete this folder
and the line that imports it. Nothing else depends on either.
"""

import hashlib
import importlib.machinery
import os
import sys
import warnings

COPIES = {table}


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in COPIES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            return spec
        with open(spec.origin, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if digest != COPIES[name]:
            warnings.warn(
                f"{{spec.origin}} has changed since it was mended, so it is used as it is; "
                "run `graphmend-lsp mend --overlay` again",
                stacklevel=2,
            )
            return spec
        package = spec.submodule_search_locations
        parts = [*name.split("."), "__init__"] if package is not None else name.split(".")
        copy = os.path.join(os.path.dirname(os.path.abspath(__file__)), *parts) + ".py"
        mended = importlib.machinery.ModuleSpec(
            name, importlib.machinery.SourceFileLoader(name, copy), origin=spec.origin, is_package=package is not None
        )
        mended.has_location = True  # __file__ stays that of the package, so that it finds what lies beside it
        mended.submodule_search_locations = package
        return mended


_late = sorted(set(COPIES) & set(sys.modules))
if _late:
    warnings.warn(
        f"{{__name__}} was imported after {{_late[0]}}, whose mended copy is not used; import it first", stacklevel=2
    )
sys.meta_path.insert(0, _Finder)
'''


NO_PROGRAM = "name a file of yours that uses the package; it must import the mended copies"


class OverlayError(Exception):
    """The copies cannot be made; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """What an overlay consists of. `copies` are digests of the originals by module name; `files` new texts by path."""

    folder: str
    copies: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def module_of(path: str) -> str:
    """The dotted name under which a file of an installed package is imported.

    Raises:
        OverlayError: it is none.
    """
    parts = PurePath(path).parts
    roots = [number for number, part in enumerate(parts) if part in ("site-packages", "dist-packages")]
    names = [*parts[roots[-1] + 1 : -1], PurePath(path).stem] if roots else []
    names = names[:-1] if names[-1:] == ["__init__"] else names
    if not names or not all(name.isidentifier() for name in names):
        raise OverlayError(f"{path} is not a module of an installed package")
    return ".".join(names)


def package_of(path: str) -> tuple[str, str] | None:
    """The package that an installed file belongs to: its import name, and its folder or only file; None for other files."""
    parts = PurePath(path).parts
    roots = [number for number, part in enumerate(parts) if part in ("site-packages", "dist-packages")]
    if not roots or roots[-1] + 1 >= len(parts):
        return None
    top = PurePath(*parts[: roots[-1] + 2])
    return (top.stem if top == PurePath(path) else top.name), str(top)


def root_of(file: str) -> str:
    """The folder from which a user's file is imported: the one above its outermost package."""
    folder = Path(file).parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return str(folder)


def make_overlay(
    texts: Mapping[str, str], digests: Mapping[str, str], user_file: str, user_text: str, known: Overlay | None = None
) -> Overlay:
    """The files that take the place of edits in installed packages.

    Args:
        texts: the mended texts of a plan, by path; those of the user's own files stay as they are.
        digests: the SHA-256 of every installed file among them, as it was mended.
        user_file: the file that reaches the packages; it imports the overlay.
        user_text: its text, with the plan's own mends in it.
        known: the overlay that is there already; its copies stay.

    Raises:
        OverlayError: a file is no module of a package.
    """
    folder = known.folder if known is not None else os.path.join(root_of(user_file), NAME)
    copies = dict(known.copies) if known is not None else {}
    files = {path: text for path, text in texts.items() if not is_installed(path)}
    for path, text in texts.items():
        if not is_installed(path):
            continue
        copies[module_of(path)] = digests[path]
        files[os.path.join(folder, *_parts(path))] = text
    files[os.path.join(folder, "__init__.py")] = _HOOK.format(table=json.dumps(dict(sorted(copies.items())), indent=4))
    files[user_file] = with_import(files.get(user_file, user_text))
    return Overlay(folder, copies, files)


def with_import(text: str) -> str:
    """The file's text with the overlay imported before anything else that it imports; unchanged when it is already.

    Raises:
        OverlayError: the text does not parse.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise OverlayError(f"the file that imports the package does not parse ({error})") from error
    if any(isinstance(node, ast.Import) and any(alias.name == NAME for alias in node.names) for node in body):
        return text
    first = 0
    if (
        body
        and isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        first = 1
    while first < len(body) and isinstance(node := body[first], ast.ImportFrom) and node.module == "__future__":
        first += 1
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    if first == len(body):
        end = text if not text or text.endswith(newline) else text + newline
        return end + IMPORT + newline
    node = body[first]
    decorators = getattr(node, "decorator_list", [])
    line = min([node.lineno, *(one.lineno for one in decorators)])
    return "".join([*lines[: line - 1], IMPORT + newline, *lines[line - 1 :]])


def as_overlay(plan: Plan, user_files: Sequence[str], texts: Mapping[str, str] | None = None) -> Plan:
    """The plan with copies in the project in place of edits in installed packages; itself when it has none.

    `user_files` are the programs that reach the packages: each imports the overlay, which lies beside the first. `texts`
    are those of files that are open in an editor and not saved.

    Raises:
        OverlayError: there is no such program, or a package's file changed while it was mended.
        OSError: a file cannot be read.
    """
    installed = [path for path in plan.texts if is_installed(path)]
    if not installed:
        return plan
    own = [file for file in dict.fromkeys(user_files) if not is_installed(file)]
    if not own:
        raise OverlayError(NO_PROGRAM)
    open_texts = texts or {}
    digests = {path: sha256_of(path) for path in installed}
    for path in installed:
        if read_source(path).text != plan.old[path]:
            raise OverlayError(f"{path} changed during mending; run the command again")
    files: Mapping[str, str] = plan.texts
    known = read_overlay(os.path.join(root_of(own[0]), NAME))
    for file in own:
        overlay = make_overlay(files, digests, file, open_texts.get(file) or read_source(file).text, known)
        files, known = (
            {**{path: text for path, text in files.items() if not is_installed(path)}, **overlay.files},
            overlay,
        )
    copies = {os.path.join(known.folder if known else "", *_parts(path)): plan.old[path] for path in installed}
    old = {path: open_texts.get(path) or _old(path) for path in files} | {
        path: text for path, text in copies.items() if not os.path.exists(path)
    }
    return replace(plan, texts=dict(files), old=old)


def _old(path: str) -> str:
    return read_source(path).text if os.path.exists(path) else ""


def _parts(path: str) -> list[str]:
    """Where in the overlay's folder the copy of an installed file lies."""
    names = module_of(path).split(".")
    names += ["__init__"] if PurePath(path).stem == "__init__" else []
    return [*names[:-1], f"{names[-1]}.py"]


def read_overlay(folder: str) -> Overlay | None:
    """The overlay in that folder; None when there is none.

    Raises:
        OverlayError: something else has the name.
    """
    path = os.path.join(folder, "__init__.py")
    if not os.path.exists(folder):
        return None
    try:
        found = _TABLE.search(read_source(path).text)
        copies = json.loads(found[1]) if found else None
    except (UnreadableSourceError, ValueError):
        copies = None
    if not isinstance(copies, dict):
        raise OverlayError(f"{folder} exists, and GraphMend did not make it; move it away")
    return Overlay(folder, copies)


def sha256_of(path: str) -> str:
    """The digest of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
