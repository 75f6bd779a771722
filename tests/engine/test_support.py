"""The support module: where a file finds it, when it is written, and what a project says of it."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.engine.entries import BadEntryError, read_config
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.programs import combine
from graphmend_lsp.engine.support import Supports, foreign_support, home_of
from graphmend_lsp.engine.support_text import names_of, support_text, version_of
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import Mend, Position, Span, TextEdit

_START = Span(Position(1, 1), Position(1, 1))
_LINE = "from graphmend_support import check\n"


def _written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def _mend(path: Path, line: str = _LINE) -> Mend:
    return Mend("guard", "t", str(path), _START, (TextEdit(str(path), _START, line),))


@pytest.mark.parametrize(
    ("files", "path", "module", "place"),
    [
        ({"a.py": ""}, "a.py", "graphmend_support", "."),
        ({"p/__init__.py": "", "p/q/__init__.py": "", "p/q/a.py": ""}, "p/q/a.py", "graphmend_support", "."),
        # built and installed elsewhere: a module beside the package would not come along
        ({"pyproject.toml": "[project]\nname = 'p'\n", "p/__init__.py": "", "p/a.py": ""}, "p/a.py", "p.graphmend_support", "p"),
        ({"setup.py": "", "src/p/__init__.py": "", "src/p/a.py": ""}, "src/p/a.py", "p.graphmend_support", "src/p"),
        # folders that are no packages, from which other files import
        ({"pyproject.toml": "", "m/a.py": "", "train.py": "from m.a import Net\n"}, "m/a.py", "graphmend_support", "."),
        ({"pyproject.toml": "", "m/a.py": "", "train.py": "from m import b, a\n"}, "m/a.py", "graphmend_support", "."),
        ({"pyproject.toml": "", "m/a.py": "", "train.py": "import a\n"}, "m/a.py", "graphmend_support", "m"),
        # run from its own folder, and imported from the one above; a script in a package
        ({"pyproject.toml": "", "m/a.py": "if __name__ == '__main__': 0", "t.py": "import m.a\n"}, "m/a.py", None, ""),
        ({"p/__init__.py": "", "p/a.py": "if __name__ == '__main__':\n    0\n"}, "p/a.py", None, ""),
        ({"p/__init__.py": "", "p/a.py": "from p import b\nif __name__ == '__main__': 0"}, "p/a.py", "graphmend_support", "."),
    ],
)  # fmt: skip
def test_where_a_file_finds_it(
    tmp_path: Path, files: dict[str, str], path: str, module: str | None, place: str
) -> None:
    root = _written(tmp_path, {".git": "", **files})
    home = home_of(str(root / path), Sources({}))
    assert (home and home.module) == module
    assert home is None or Path(home.path) == root / place / "graphmend_support.py"


def test_it_is_written_once_and_updated(tmp_path: Path) -> None:
    path, home = tmp_path / "a.py", tmp_path / "graphmend_support.py"
    path.write_text("", "utf-8")
    supports = Supports(Sources({}))
    assert supports.style(str(path)).support == "graphmend_support"
    new = supports.completed(_mend(path)).edits[1:]
    assert [(one.path, one.text) for one in new] == [(str(home), support_text(frozenset({"check"})))]
    assert supports.completed(_mend(path, "x = 1\n")).edits[1:] == ()
    for text, count in ((support_text(), 0), (re.sub(r"\nVERSION = \d+\n", "\nVERSION = 1\n", support_text()), 1)):
        again = Supports(Sources({str(home): text}))
        again.style(str(path))
        assert len(again.completed(_mend(path)).edits[1:]) == count


def _offered(supports: Supports, path: Path, line: str) -> set[str] | None:
    """What the support module offers after a mend that imports that; None where it stays as it is."""
    new = [edit for edit in supports.completed(_mend(path, line)).edits if edit.path.endswith(f"{SUPPORT}.py")]
    return {*names_of(new[0].text)} if new else None


@pytest.mark.parametrize(
    ("written", "line", "offered"),
    [
        (None, "from graphmend_support import check\n", {"check"}),
        (None, "    from graphmend_support import (  # why\n    defer,\n  number as n,\n)\n", {"defer", "number"}),
        (None, "from graphmend_support import defer, \\\n    number\n", {"defer", "number"}),
        ({"check"}, "from graphmend_support import check\n", None),
        ({"check"}, "from graphmend_support import check, defer\n", {"check", "defer"}),
        ({"check", "number"}, "from graphmend_support import defer\n", {"check", "defer", "number"}),
    ],
)
def test_it_holds_what_the_project_imports(
    tmp_path: Path, written: set[str] | None, line: str, offered: set[str] | None
) -> None:
    path = tmp_path / "a.py"
    _written(tmp_path, {"a.py": ""})
    if written is not None:
        (tmp_path / "graphmend_support.py").write_text(support_text(frozenset(written)), "utf-8")
    supports = Supports(Sources({}))
    supports.style(str(path))
    assert _offered(supports, path, line) == offered
    whole = Supports(Sources({}), whole=True)
    whole.style(str(path))
    assert _offered(whole, path, line) == {*names_of(support_text())}


def test_a_notebook_gets_the_whole(tmp_path: Path) -> None:
    path = _written(tmp_path, {"a.ipynb": ""}) / "a.ipynb"
    supports = Supports(Sources({str(path): ""}))
    supports.style(str(path))
    assert _offered(supports, path, _LINE) == {*names_of(support_text())}


def test_what_mended_files_import_comes_back_with_it(tmp_path: Path) -> None:
    _written(tmp_path, {"a.py": "", "p/b.py": "def f():\n    from graphmend_support import defer, lost\n"})
    supports = Supports(Sources({}))
    supports.style(str(tmp_path / "a.py"))
    assert _offered(supports, tmp_path / "a.py", _LINE) == {"check", "defer"}


def test_an_older_one_gets_the_new_version_of_what_it_offers(tmp_path: Path) -> None:
    old = re.sub(r"\nVERSION = \d+\n", "\nVERSION = 1\n", support_text(frozenset({"defer"}))).replace("defer(", "d(")
    _written(tmp_path, {"a.py": "", "graphmend_support.py": old})
    supports = Supports(Sources({}))
    supports.style(str(tmp_path / "a.py"))
    new = supports.completed(_mend(tmp_path / "a.py")).edits[1]
    assert new.text == support_text(frozenset({"check", "defer"}))


@pytest.mark.parametrize(("names", "module"), [({"check"}, None), (None, SUPPORT)])
def test_a_newer_one_is_imported_from_only_where_it_has_all(
    tmp_path: Path, names: set[str] | None, module: str | None
) -> None:
    newer = support_text(frozenset(names) if names else None)
    newer = re.sub(r"\nVERSION = \d+\n", "\nVERSION = 999\n", newer)
    _written(tmp_path, {"a.py": "", "graphmend_support.py": newer})
    supports = Supports(Sources({}))
    assert supports.style(str(tmp_path / "a.py")).support == module
    assert _offered(supports, tmp_path / "a.py", _LINE) is None


def test_mends_that_are_made_together_write_it_once(tmp_path: Path) -> None:
    path, other = _written(tmp_path, {"a.py": "", "b.py": ""}) / "a.py", tmp_path / "b.py"
    supports = Supports(Sources({}))
    lines = {path: _LINE, other: "from graphmend_support import defer, runs_deferred\n"}
    for one in lines:
        supports.style(str(one))
    mends, texts = combine([supports.completed(_mend(one, line)) for one, line in lines.items()], Sources({}))
    assert len(mends) == 2
    assert texts[str(tmp_path / "graphmend_support.py")] == support_text(frozenset(("check", "defer", "runs_deferred")))


@pytest.mark.parametrize("name", sorted(names_of(support_text())))
def test_a_part_has_all_that_it_uses(tmp_path: Path, name: str) -> None:
    """Nothing is undefined in it, and it loads; what it does is shown where mended examples run: they import parts."""
    part = support_text(frozenset({name}))
    assert names_of(part) == {name}
    assert version_of(part) == version_of(support_text())
    (tmp_path / "part.py").write_text(part, "utf-8")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--ignore-noqa",
        "--select",
        "F",
        "--ignore",
        "F401",
        "part.py",
    ]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    whole, kept = ast.parse(support_text()).body, [ast.dump(node) for node in ast.parse(part).body]
    assert {ast.dump(node) for node in whole if getattr(node, "name", None) == name} <= {*kept}


@pytest.mark.parametrize("text", ["import x\n", "VERSION = 1\n"])
def test_a_file_of_that_name_that_is_not_ours_stays(tmp_path: Path, text: str) -> None:
    _written(tmp_path, {"a.py": "", "graphmend_support.py": text})
    supports = Supports(Sources({}))
    assert supports.style(str(tmp_path / "a.py")).support is None
    assert supports.completed(_mend(tmp_path / "a.py")).edits[1:] == ()
    for start in (tmp_path, tmp_path / "a.py"):
        assert f"{SUPPORT}.py is not GraphMend's" in (foreign_support(str(start)) or "")
    (tmp_path / "graphmend_support.py").write_text(support_text(), "utf-8")
    assert foreign_support(str(tmp_path)) is None
    _written(tmp_path, {"graphmend_support.py": text, "pyproject.toml": '[tool.graphmend]\nsupport = "package"\n'})
    assert foreign_support(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("told", "module"), [("file", "graphmend_support"), ("package", "graphmend_support"), ("inline", None)]
)
def test_a_project_says_where_it_comes_from(tmp_path: Path, told: str, module: str | None) -> None:
    _written(tmp_path, {"a.py": "", "pyproject.toml": f'[tool.graphmend]\nsupport = "{told}"\n'})
    supports = Supports(Sources({}))
    assert supports.style(str(tmp_path / "a.py")).support == module
    assert bool(supports.completed(_mend(tmp_path / "a.py")).edits[1:]) == (told == "file")
    assert Supports(Sources({}), "inline").style(str(tmp_path / "a.py")).support is None


@pytest.mark.parametrize(
    ("line", "match"), [('support = "none"', "support is"), ('comments = "no"', "comments is true")]
)
def test_a_setting_that_nobody_knows_is_an_error(tmp_path: Path, line: str, match: str) -> None:
    _written(tmp_path, {"pyproject.toml": f"[tool.graphmend]\n{line}\n"})
    with pytest.raises(BadEntryError, match=match):
        read_config(str(tmp_path))


@pytest.mark.parametrize("line", ["", "comments = true", "comments = false"])
def test_a_project_or_the_editor_turns_comments_off(tmp_path: Path, line: str) -> None:
    _written(tmp_path, {"a.py": "", "pyproject.toml": f"[tool.graphmend]\n{line}\n"})
    for asked in (True, False):
        style = Supports(Sources({}), comments=asked).style(str(tmp_path / "a.py"))
        assert style.comments is (asked and line != "comments = false")


_OURS, _OWN = "graphmend_support", "own"


@pytest.mark.parametrize(
    ("name", "table", "length", "first", "sorting"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 79\n", 79, {_OURS}, ""),
        ("pyproject.toml", "[tool.black]\n", 88, {_OURS}, ""),
        ("pyproject.toml", "[tool.isort]\nline_length = 100\n", 100, {_OURS}, ""),
        ("pyproject.toml", "[tool.isort]\nprofile = 'google'\n[tool.black]\nline-length = 90\n", 90, {_OURS}, "single mixed"),
        ("pyproject.toml", '[tool.ruff]\nsrc = ["lib"]\n', 88, {_OWN}, ""),
        ("pyproject.toml", "[tool.ruff.lint.isort]\nforce-single-line = true\n", 88, {_OURS}, "single"),
        ("pyproject.toml", "[project]\nname = 'x'\n", None, {_OURS}, ""),
        ("pyproject.toml", "[tool.isort]\nknown_third_party = 'graphmend_support'\n", 88, set(), ""),
        (".isort.cfg", "[settings]\nforce_sort_within_sections = True\nline_length = 99\n", 99, {_OURS}, "mixed"),
        ("setup.cfg", "[isort]\nsrc_paths = lib, tests\nforce_single_line=1x\n", 88, {_OWN}, ""),
        ("tox.ini", "[isort\nnothing", None, {_OURS}, ""),
    ],
)  # fmt: skip
def test_the_style_of_a_project(
    tmp_path: Path, name: str, table: str, length: int | None, first: set[str], sorting: str
) -> None:
    _written(tmp_path, {"a.py": "", "lib/own.py": "", name: table})
    style = Supports(Sources({})).style(str(tmp_path / "a.py"))
    assert style.line_length == length
    assert style.first_party & {_OURS, _OWN} == first
    assert (style.single_line, style.mixed) == ("single" in sorting, "mixed" in sorting)


def test_another_text_has_another_version() -> None:
    """A project that has an older text gets the new one by its number: change both together."""
    digest = hashlib.sha256(support_text().encode()).hexdigest()[:16]
    assert (version_of(support_text()), digest) == (20, "2499faec1be2356b")
    assert version_of("VERSION = 1\n") is None


_PROGRAM = """\
import importlib.util, json, sys, threading, torch

def load(name, text):
    spec = importlib.util.spec_from_loader(name, None)
    module = importlib.util.module_from_spec(spec)
    module.__file__ = name + ".py"
    sys.modules[name] = module
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module

text = open(sys.argv[1], encoding="utf-8").read()
one, two = load("one", text), load("two", text.replace("VERSION = ", "VERSION = 9", 1))
print("torch._dynamo" in sys.modules)
classes = []
for copy in (one, two):
    class Odd(ValueError):
        pass
    classes.append(Odd)

def f(x, first, second):
    assert one.check((x < 9).all(), first, "first", 1, None)
    two.check((x > -9).all(), second, "second", True)
    two.defer(lambda x=x: said.append(x.sum().item()))
    return x.sin()

said = []
for backend in (None, "eager", "aot_eager"):
    torch._dynamo.reset()
    wrapped = one.runs_deferred(f)
    fn = torch.compile(wrapped, backend=backend) if backend else wrapped
    for value in (1.0, 10.0, -10.0):
        try:
            fn(torch.full((2,), value), *classes)
            print("fine")
        except ValueError as error:
            print([classes.index(type(error)), list(error.args)])
    print(json.dumps(said))
    said.clear()
graph = torch.compile(f, backend="eager", fullgraph=True)
try:
    graph(torch.full((2,), 10.0), *classes)
except ValueError as error:
    print(classes.index(type(error)))
"""


_LOAD = _PROGRAM[: _PROGRAM.index("classes = []")]
_FIRST = '''
FIRST = """
import functools, torch
_shared = vars(torch).setdefault("_graphmend", {"raised": {}, "deferred": None})

def defer(effect):
    waiting = _shared["deferred"]
    if waiting is None:
        effect()
    else:
        waiting.append(effect)

def runs_deferred(function):
    @torch.compiler.disable
    def flush(effects):
        for effect in effects:
            effect()

    @torch.compiler.disable(recursive=False)
    def wrapper(*args):
        if _shared["deferred"] is not None:
            return function(*args)
        _shared["deferred"] = []
        try:
            return function(*args)
        finally:
            effects, _shared["deferred"] = _shared["deferred"], None
            flush(effects)

    return wrapper
"""
old = load("old", FIRST)
'''
_THREADS = (
    _LOAD
    + _FIRST
    + """
def program(support, within):
    @support.runs_deferred
    def inner(x):
        within.defer(lambda: say("inner"))
        return x.cos()

    @support.runs_deferred
    def outer(x):
        within.defer(lambda: say("first"))
        x = inner(x.sin())
        within.defer(lambda: say("last"))
        x = x.sin()
        return x

    return outer

def say(word):
    said.setdefault(threading.current_thread().name, []).append(word)

def waits(x):
    one.defer(lambda: say("mine"))
    gate.wait(60)  # both are in here at once
    return x.sin()

for support, within in ((one, one), (one, two), (old, one), (one, old)):
    for backend in (None, "aot_eager"):
        torch._dynamo.reset()
        said = {}
        fn = program(support, within)
        (torch.compile(fn, backend=backend) if backend else fn)(torch.ones(2))
        print(said["MainThread"])

said, gate = {}, threading.Barrier(2)
fn = torch.compile(one.runs_deferred(waits), backend="aot_eager")
threads = [threading.Thread(target=fn, args=(torch.ones(2),), name=name) for name in "ab"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(dict(sorted(said.items())))

@one.runs_deferred
def slow(x):
    one.defer(lambda: say("slow"))
    other = threading.Thread(target=lambda: (two.defer(lambda: say("at once")), print(sorted(said))), name="other")
    other.start()
    other.join()
    return x

said = {}
slow(torch.ones(2))
print(sorted(said), torch._graphmend["deferred"], one._waiting.effects)
graphs = torch._dynamo.testing.CompileCounter()
torch._dynamo.reset()
plain = torch.compile(one.runs_deferred(lambda x: (one.defer(lambda: say("one")), x.sin())[1]), backend=graphs)
for count in range(4):
    plain(torch.ones(2))
print(graphs.frame_count, len(said["MainThread"]))
"""
)


_HANDLERS = (
    _LOAD
    + """
import contextlib

class Own(ValueError):
    pass

ALIAS = (ImportError, Own)

def inner(x):
    one.check((x < 9).all(), Own, "own")
    return x.sin()

def message(x):
    one.check((x < 9).all(), lambda x: Own(x.sum().item()), x)
    return x.sin()

def as_given(x):
    try:
        return inner(x)
    except (KeyError, ValueError):
        return x.cos()

def other(x):
    try:
        return inner(x)
    except (KeyError, TypeError):
        return x.cos()

def alias(x):
    try:
        return inner(x)
    except ALIAS:
        return x.cos()

def suppressed(x):
    with contextlib.suppress(ValueError):
        return inner(x)
    return x.cos()

def of_message(x):
    try:
        return message(x)
    except Own:
        return x.cos()

def not_of_message(x):
    try:
        return message(x)
    except OSError:
        return x.cos()

def finally_(x):
    try:
        return inner(x)
    finally:
        x = x + 1

try:
    import nowhere
except ImportError:
    def defined(x):
        return inner(x)

def in_handler(x):
    try:
        x = x + 1
    except ValueError:
        pass
    else:
        return inner(x)

def call(function, x):
    try:
        return repr(function(x))
    except ValueError as error:
        return repr(error)

for program in (as_given, other, alias, suppressed, of_message, not_of_message, finally_, defined, in_handler):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(program, backend="aot_eager")
    same = [call(compiled, x) == call(program, x) for x in (torch.ones(2), torch.full((2,), 10.0))]
    broken = sum(torch._dynamo.utils.counters["unimplemented"].values())
    print(program.__name__, broken, same == [True, True])
"""
)


def _ran(tmp_path: Path, text: str) -> list[str]:
    spec = importlib.util.find_spec("graphmend_lsp.support.graphmend_support")
    assert spec is not None and spec.origin is not None
    program = tmp_path / "program.py"
    program.write_text(text, "utf-8")
    command = [sys.executable, str(program), spec.origin]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [line for line in ran.stdout.splitlines() if line]


@pytest.mark.slow
def test_two_copies_work_together(tmp_path: Path) -> None:
    """Copies of two versions share one operator and one list; two classes of one name stay two; importing loads no Dynamo."""
    once = ["fine", "[0, ['first', 1, None]]", "[1, ['second', True]]", json.dumps([2.0])]
    assert _ran(tmp_path, _PROGRAM) == ["False", *once * 3, "0"]


@pytest.mark.slow
def test_each_thread_has_its_own_effects(tmp_path: Path) -> None:
    """Also beside version 1, whose effects all threads share; what an inner function defers stays behind the outer's."""
    lines = _ran(tmp_path, _THREADS)[1:]
    assert lines[:-4] == ["['first', 'inner', 'last']"] * 8
    assert lines[-4:] == ["{'a': ['mine'], 'b': ['mine']}", "['other']", "['MainThread', 'other'] None None", "1 5"]


@pytest.mark.slow
def test_a_handler_that_is_traced_gets_the_exception_of_a_check(tmp_path: Path) -> None:
    """The graph breaks there, and only there: what another handler would catch, or one in another function, raises in the graph."""
    found = dict(line.split(" ", 1) for line in _ran(tmp_path, _HANDLERS)[1:])
    caught = dict.fromkeys(("as_given", "alias", "suppressed", "of_message"))
    assert {name for name, said in found.items() if not said.startswith("0 ")} == set(caught)
    assert {said.rpartition(" ")[2] for said in found.values()} == {"True"}
    assert len(found) == 9


def test_a_file_that_an_editor_has_just_created_is_not_foreign(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    made = tmp_path / "graphmend_support.py"
    made.write_text("\n")
    assert foreign_support(str(tmp_path)) is None
    made.write_text("check = None\n")
    assert str(made) in str(foreign_support(str(tmp_path)))
