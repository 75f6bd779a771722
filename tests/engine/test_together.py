"""Which programs are mended in one part: those that may load a common file; no file belongs to two parts."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.shard import Shard
from graphmend_lsp.engine.support_text import support_text
from graphmend_lsp.engine.together import StrangerError, cut_of, in_parts, strangers
from graphmend_lsp.model import Entry

ENTRY = "def graphmend_entry():\n    return 1, ()\n"
CODE = "def f(x):\n    return x\n"
# what is there besides the entries a.py, b.py and c.py; what each of these begins with; who belongs together
TREES: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "nothing shared": ({}, {}, ["a", "b", "c"]),
    "an entry imports another": ({}, {"a": "import b\n"}, ["ab", "c"]),
    "one shared file": ({"shared.py": CODE}, {"a": "import shared\n", "c": "from shared import f\n"}, ["ac", "b"]),
    "a chain": (
        {"p.py": "from q import f\n" + CODE, "q.py": CODE},
        {"a": "import p\n", "b": "import q\n"},
        ["ab", "c"],
    ),
    "a chain of two shared files": (
        {"p.py": CODE, "q.py": CODE},
        {"a": "import p\n", "b": "import p, q\n", "c": "import q\n"},
        ["abc"],
    ),
    "a third one that shares with the first alone": (
        {"p.py": CODE, "q.py": CODE},
        {"a": "import p, q\n", "b": "import p\n", "c": "import q\n"},
        ["abc"],
    ),
    "imported in a function": ({"p.py": CODE}, {"a": "def g():\n    import p\n", "b": "import p\n"}, ["ab", "c"]),
    "a package without code": (
        {"k/__init__.py": '"""Words."""\n__version__ = "1"\n', "k/p.py": CODE, "k/q.py": CODE},
        {"a": "import k.p\n", "b": "from k import q\n"},
        ["a", "b", "c"],
    ),
    "a package that imports all it has": (
        {"k/__init__.py": "from .p import f\nfrom . import q\n", "k/p.py": CODE, "k/q.py": CODE},
        {"a": "import k.p\n", "b": "from k import q\n"},
        ["ab", "c"],
    ),
    "a package with code": (
        {"k/__init__.py": CODE, "k/p.py": CODE, "k/q.py": CODE},
        {"a": "import k.p\n", "b": "from k import q\n"},
        ["ab", "c"],
    ),
    "the top of the project and src": (
        {"pyproject.toml": "", "src/k/__init__.py": "", "src/k/p.py": CODE},
        {"a": "from k.p import f\n", "b": "from src.k.p import f\n"},
        ["ab", "c"],
    ),
    "two files that an import may find": (
        {"pyproject.toml": "", "p.py": CODE, "src/p.py": CODE, "src/q.py": "import p\n" + CODE},
        {"a": "from src import q\n", "b": "import p\n"},
        ["ab", "c"],
    ),
    "the support module": (
        {"graphmend_support.py": support_text()},
        dict.fromkeys("abc", "from graphmend_support import check\n"),
        ["a", "b", "c"],
    ),
    "a file of the user's with its name": (
        {"graphmend_support.py": CODE},
        dict.fromkeys("ab", "from graphmend_support import f\n"),
        ["ab", "c"],
    ),
    "a package whose stars are its files": (
        {"k/__init__.py": "__all__ = [\n    'p',\n    \"q\"]\n", "k/p.py": CODE, "k/q.py": CODE},
        {"a": "from k import *\n", "b": "import k.q\n"},
        ["ab", "c"],
    ),
    "installed packages": ({}, dict.fromkeys("abc", "import torch, rich.console\n"), ["a", "b", "c"]),
    "importlib": ({}, {"b": "import importlib\nimportlib.import_module('a')\n"}, ["abc"]),
    "importlib in what is imported": ({"p.py": "m = __import__('a')\n"}, {"b": "import p\n"}, ["abc"]),
    "sys.path": ({}, {"c": "import sys\nsys.path.insert(0, '..')\n"}, ["abc"]),
    "model.exec(x) runs no text": ({}, {"c": "def g(m):\n    m.exec(1)\n"}, ["a", "b", "c"]),
    "a file that does not parse": ({"p.py": "def f(:\n"}, {"a": "import p\n", "b": "import p\n"}, ["ab", "c"]),
}


def tree(folder: Path, files: dict[str, str], heads: dict[str, str]) -> list[Key]:
    for name, text in {**files, **{f"{one}.py": heads.get(one, "") + ENTRY for one in "abc"}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [(Entry(str(folder / f"{one}.py"), "graphmend_entry"), "eval") for one in "abc"]


def request(folder: Path, number: int, count: int) -> CheckRequest:
    asked = CheckRequest((str(folder),))
    return in_parts(asked, Shard(number, count), str(folder))[0]


@pytest.mark.parametrize("what", TREES)
def test_programs_that_share_a_file_belong_together(tmp_path: Path, what: str) -> None:
    files, heads, together = TREES[what]
    keys = tree(tmp_path, files, heads)
    cut = cut_of(keys, {}, str(tmp_path))
    groups: dict[str, str] = {}
    for name, word in cut.groups.items():
        groups[word] = groups.get(word, "") + name[0]
    assert sorted(groups.values()) == together
    code = [{path for path in files if Path(path).name != "__init__.py"} for files in cut.files.values()]
    assert all(one.isdisjoint(other) for one, other in combinations(code, 2))
    assert bool(cut.loose) == (what in {"importlib", "importlib in what is imported", "sys.path"})


@pytest.mark.parametrize("what", TREES)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_parts_run_every_entry_once_and_edit_no_file_twice(tmp_path: Path, what: str, count: int) -> None:
    keys = tree(tmp_path, *TREES[what][:2])
    parts = [request(tmp_path, number, count) for number in range(1, count + 1)]
    shares = [part.shard.share(keys, str(tmp_path)) for part in parts if part.shard]
    assert sorted(key[0].file for share in shares for key in share) == [key[0].file for key in keys]
    edited = [path for part in parts for path in part.shown or () if Path(path).name != "__init__.py"]
    assert len([one for one in edited if one != os.devnull]) == len({one for one in edited if one != os.devnull})
    for part, share in zip(parts, shares, strict=True):
        assert {entry.file for entry, _ in share} <= set(part.shown or ())
    marks = {part.shard.mark(keys, str(tmp_path)).plan for part in parts if part.shard}
    assert len(marks) == 1


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_a_file_under_two_names_is_one_file(tmp_path: Path) -> None:
    keys = tree(tmp_path, {"p.py": CODE}, {"a": "import p\n", "b": "import q\n"})
    (tmp_path / "q.py").symlink_to(tmp_path / "p.py")
    assert len(cut_of(keys, {}, str(tmp_path)).files) == 2


def test_entries_of_installed_packages_stay_together(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    assert len(cut_of(tree(folder, {}, {"a": "import b\n"}), {}, str(folder)).files) == 1


def test_known_times_balance_groups(tmp_path: Path) -> None:
    keys = tree(tmp_path, {"p.py": CODE}, {"a": "import p\n", "b": "import p\n"})
    asked = CheckRequest((str(tmp_path),))
    seconds = {"c.py:graphmend_entry (eval)": 9.0, "a.py:graphmend_entry (eval)": 1.0}
    part, note = in_parts(asked, Shard(1, 2, seconds), str(tmp_path))
    assert part.shard is not None and note == ""
    assert [Path(key[0].file).stem for key in part.shard.share(keys, str(tmp_path))] == ["c"]


def test_what_a_first_part_writes_leaves_the_cut_of_the_next(tmp_path: Path) -> None:
    keys = tree(tmp_path, {"p.py": CODE}, {"a": "import p\n", "b": "import p\n"})
    before = cut_of(keys, {}, str(tmp_path))
    (tmp_path / "graphmend_support.py").write_text(support_text())
    for name in "abcp":
        file = tmp_path / f"{name}.py"
        file.write_text("from graphmend_support import check\n" + file.read_text())
    assert cut_of(keys, {}, str(tmp_path)) == before


def test_a_tree_of_one_group_is_mentioned_with_the_reason(tmp_path: Path) -> None:
    tree(tmp_path, {}, {"b": "import importlib\nimportlib.import_module('a')\n"})
    note = in_parts(CheckRequest((str(tmp_path),)), Shard(1, 2), str(tmp_path))[1]
    assert "1 of 2 shards mends nothing" in note and "b.py may load any other file" in note


@pytest.mark.parametrize(
    ("loaded", "refused"),
    [
        ("a.py", False),  # its own
        ("p.py", False),  # of its group
        ("b.py", True),  # of the other part
        ("alone.py", True),  # of no part, so that two may edit it
        ("empty/__init__.py", False),  # nothing in it can be mended
        ("graphmend_support.py", False),
        ("../outside.py", False),  # no part may edit it
        ("../site-packages/x.py", False),
        ("site-packages/x.py", False),
    ],
)
def test_a_run_that_loads_a_file_of_another_part_is_refused(tmp_path: Path, loaded: str, refused: bool) -> None:
    folder = tmp_path / "tree"
    extra = {"alone.py": CODE, "p.py": CODE, "empty/__init__.py": "", "graphmend_support.py": support_text()}
    keys = tree(
        folder,
        {**extra, "../outside.py": CODE, "../site-packages/x.py": CODE, "site-packages/x.py": CODE},
        {"a": "import p\n"},
    )
    parts = [request(folder, number, 3) for number in (1, 2, 3)]
    (part,) = [one for one in parts if keys[0][0].file in (one.shown or ())]
    runs = {keys[0]: Run(loaded=frozenset([os.path.normpath(folder / loaded)]))}
    if not refused:
        strangers(part, runs)
        return
    with pytest.raises(StrangerError, match=r"a.py:graphmend_entry loads .*none of its imports names"):
        strangers(part, runs)
