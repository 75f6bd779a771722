"""What rules may read of the package of a file."""

from __future__ import annotations

from pathlib import Path

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.neighbours import imported_by


def test_a_file_has_the_modules_of_its_package_that_it_imports(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    (package / "deep").mkdir(parents=True)
    files = {
        "__init__.py": "",
        "deep/__init__.py": "",
        "deep/a.py": "import torch\nimport pkg.other\nfrom pkg import helpers\nfrom . import near\nfrom ..missing import x\n",
        "deep/near.py": "def near(): ...\n",
        "helpers.py": "def help(): ...\n",
        "other.py": "y = 1\n",
        "unused.py": "z = 1\n",
    }
    for name, text in files.items():
        (package / name).write_text(text)
    (tmp_path / "torch.py").write_text("not = of the package\n")
    path = str(package / "deep" / "a.py")
    unsaved = str(package / "helpers.py")
    found = imported_by(path, Sources({unsaved: "def help(x): ...\n"}))
    names = {Path(one).relative_to(package).as_posix(): text for one, text in found.items()}
    assert names == {"deep/near.py": files["deep/near.py"], "helpers.py": "def help(x): ...\n", "other.py": "y = 1\n"}
    assert imported_by(str(package / "gone.py"), Sources({})) == {}


def test_names_that_a_package_takes_from_its_modules_are_followed(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    (package / "utils" / "deep").mkdir(parents=True)
    files = {
        "__init__.py": "",
        "model.py": "from pkg.utils import warn, own, both\nfrom .names import far as near\n",
        "names.py": "from pkg.utils.deep import far\n",
        "utils/__init__.py": "from pkg.utils.prints import warn\nfrom .deep import both\n\n\ndef own(): ...\n",
        "utils/prints.py": "def warn(): ...\n",
        "utils/deep/__init__.py": "from .all import both, far\n",
        "utils/deep/all.py": "def both(): ...\n\n\ndef far(): ...\n",
    }
    for name, text in files.items():
        (package / name).write_text(text)
    found = {Path(one).relative_to(package).as_posix() for one in imported_by(str(package / "model.py"), Sources({}))}
    assert found == {"utils/__init__.py", "utils/prints.py", "utils/deep/__init__.py", "utils/deep/all.py", "names.py"}
