"""Packages that a program imports are imported once, as long as nothing says that the program would import otherwise."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.worker import preload
from tests.worker.worker_pipes import Worker, analyse_params

pytestmark = pytest.mark.slow

CORES = len(os.sched_getaffinity(0))
PARTS = 24  # modules of the package: enough to be worth it
MARK = "import os\nopen(os.environ['MARKS'], 'a').write('imported\\n')\n"
MODEL = "import torch, heavy\n\ndef f(x):\n    return x + heavy.ONE\n\ndef graphmend_entry():\n    return f, (torch.ones(4),)\n"


class Place:
    """A worker whose installed packages are a folder of the test's, with a package `heavy`; it notes its imports."""

    def __init__(self, folder: Path, more: str = "", parts: int = PARTS) -> None:
        self.installed = folder / "site-packages"
        self.heavy = self.installed / "heavy"
        self.heavy.mkdir(parents=True)
        for number in range(parts):
            (self.heavy / f"part{number}.py").write_text(f"VALUE = {number}\n")
        own = "".join(f"from heavy import part{number}\n" for number in range(parts))
        (self.heavy / "__init__.py").write_text(f"{MARK}{own}ONE = 1\n{more}")
        self.marks = folder / "marks"
        self.marks.write_text("")
        self.project = folder / "project"
        self.project.mkdir()
        self.model = self.project / "model.py"
        self.model.write_text(MODEL)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        names = {"PYTHONPATH": self.installed, "MARKS": self.marks, "TMPDIR": self.temporary}
        self.worker = Worker({name: str(value) for name, value in names.items()})

    def run(self, **options: Any) -> dict[str, Any]:
        return self.worker.analyse(self.model, **{"roots": (str(self.project),), **options})

    def imports(self) -> int:
        """How often the package was imported by now."""
        return self.marks.read_text().count("imported")

    def warm(self) -> None:
        """Run until a process has the package imported."""
        assert self.run()["failure"] is None
        until(lambda: len(self.worker.children()) == 1 and self.imports() == 2)
        time.sleep(0.3)  # it says that it is ready


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    assert made.worker.close() == 0
    assert list(made.temporary.iterdir()) == []


def test_the_second_run_finds_the_package_imported(place: Place) -> None:
    place.warm()
    first = place.imports()
    for _ in range(3):
        result = place.run()
        assert (result["failure"], len(result["graphs"])) == (None, 1)
    assert place.imports() == first
    assert any(path.endswith("heavy/part3.py") for path in result["needs"]["before"]["modules"])
    until(lambda: len(place.worker.children()) == 1)


def test_a_proof_finds_it_imported_too(place: Place) -> None:
    place.warm()
    first = place.imports()
    mended = MODEL.replace("x + heavy.ONE", "heavy.ONE + x")
    candidate = {"id": "0", "texts": {str(place.model): mended}, "conditions": [], "changed": {}}
    params = {**analyse_params(place.model, roots=(str(place.project),)), "candidates": [candidate]}
    verdict = place.worker.result(place.worker.send("verify", params))
    assert verdict["candidates"][0]["outputs"] == "bit-equal"
    assert place.imports() == first


def test_a_proof_waits_until_packages_that_take_long_are_imported(tmp_path: Path) -> None:
    """The first proof begins right behind the first run; each of its programs would import them again."""
    place = Place(tmp_path, "import time\ntime.sleep(1.2)\n", parts=120)
    try:
        assert place.run()["failure"] is None
        candidate = {"id": "0", "texts": {str(place.model): MODEL.replace("x + heavy.ONE", "heavy.ONE + x")}}
        params = {
            **analyse_params(place.model, roots=(str(place.project),)),
            "candidates": [{**candidate, "conditions": [], "changed": {}}],
        }
        verdict = place.worker.result(place.worker.send("verify", params))
        assert verdict["candidates"][0]["outputs"] == "bit-equal"
        assert place.imports() == 2  # by the run and by the process that keeps it
    finally:
        assert place.worker.close() == 0


def test_what_does_not_need_an_edited_module_stays_imported(place: Place) -> None:
    """A package that imports the edited one is run anew with it, and nothing else is."""
    (place.installed / "middle").mkdir()
    (place.installed / "middle" / "__init__.py").write_text(f"{MARK}import middle.inner\n")
    (place.installed / "middle" / "inner.py").write_text(f"{MARK}import base, edited\n")
    (place.installed / "edited.py").write_text(f"{MARK}ONE = 1\n")
    (place.installed / "base.py").write_text("import heavy\nSEEN = 0\n")
    text = MODEL.replace("import torch, heavy", "import torch, middle, edited, heavy").replace(
        "heavy.ONE", "edited.ONE"
    )
    place.model.write_text(text)
    other = {str(place.installed / "edited.py"): f"{MARK}ONE = 41\n"}
    for _ in range(2):
        assert place.run(texts=other)["failure"] is None
    until(lambda: len(place.worker.children()) == 1)
    time.sleep(0.5)
    before = place.imports()
    assert place.run(texts=other)["failure"] is None
    assert place.imports() == before + 3  # middle, what it has inside, and the edited one; not heavy
    children = place.worker.children()
    place.model.write_text(text + "\n")
    assert place.run()["failure"] is None  # of what is saved: what is not edited may be imported anew, too
    assert place.imports() == before + 6
    assert children[0] in place.worker.children()


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def shadow(place: Place) -> None:
    (place.project / "heavy.py").write_text("ONE = 41\n")


# what happens after the package was kept imported -> what f(1) adds then
CHANGES: dict[str, tuple[Callable[[Place], object], str]] = {
    "the installed file changes": (lambda place: edit(place.heavy / "__init__.py", "ONE = 1", "ONE = 41"), ""),
    "a module of the project comes before it": (shadow, ""),
    "an unsaved text comes before it": (lambda _place: None, "heavy.py"),
    "the installed file is edited": (lambda _place: None, "../site-packages/heavy/__init__.py"),
    "the process that holds it dies": (lambda place: os.kill(place.worker.children()[0], signal.SIGKILL), "dies"),
    "the process that holds it hangs": (lambda place: os.kill(place.worker.children()[0], signal.SIGSTOP), "hangs"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_it_is_imported_anew_when(place: Place, name: str) -> None:
    place.warm()
    change, text = CHANGES[name]
    change(place)
    place.model.write_text(MODEL.replace("return x + heavy.ONE", "assert heavy.ONE == EXPECTED\n    return x"))
    harmless = text in ("dies", "hangs")
    texts = {os.path.normpath(place.project / text): f"{MARK}ONE = 41\n"} if text and not harmless else {}
    place.model.write_text(place.model.read_text().replace("EXPECTED", "1" if harmless else "41"))
    assert place.run(texts=texts)["failure"] is None
    assert place.run(texts=texts)["failure"] is None


def test_a_program_that_says_something_else_of_imports_is_run_anew(place: Place) -> None:
    place.warm()
    first = place.imports()
    edit(place.model, "import torch, heavy", "import os\nos.environ['HEAVY'] = '1'\nimport torch, heavy")
    assert place.run()["failure"] is None
    assert place.imports() == first + 1
    assert place.run()["failure"] is None
    assert (
        place.imports() == first + 2
    )  # what it does to the environment is seen by the package only when it is run anew


# what a package does while it is imported, and what is said of it
UNSAFE = {
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n",
    "a signal handler": "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n",
    "the environment": "os.environ['HEAVY'] = 'here'\n",
    "the working folder": "os.chdir('/')\n",
    "an open file": "KEPT = open('/dev/zero')\n",
    "a process": "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n",
    "compiling": "import torch\nfast = torch.compile(lambda x: x)\n",
    "torch.compile by another name": "from torch import compile as fast\n",
}


@pytest.mark.parametrize("name", UNSAFE)
def test_a_package_that_leaves_more_than_modules_is_imported_anew(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path, UNSAFE[name])
    try:
        for _ in range(3):
            before = place.imports()
            assert place.run()["failure"] is None
            until(lambda: place.worker.children() == [])
            assert place.imports() > before
    finally:
        assert place.worker.close() == 0
    assert list(place.temporary.iterdir()) == []


def test_two_programs_are_kept_and_the_third_takes_the_place_of_the_first(place: Place) -> None:
    for name in ("other", "third"):
        folder = place.installed / name
        folder.mkdir()
        for number in range(PARTS):
            (folder / f"part{number}.py").write_text("")
        parts = "".join(f"from {name} import part{number}\n" for number in range(PARTS))
        (folder / "__init__.py").write_text(MARK + parts)
    place.warm()
    first = place.worker.children()
    for name in ("other", "third"):
        path, before = place.project / f"{name}_model.py", place.imports()
        path.write_text(MODEL.replace("import torch, heavy", f"import torch, {name}").replace("heavy.ONE", "1"))
        assert place.worker.analyse(path)["failure"] is None
        if name == "third":  # of what is kept for the two nothing was of use yet: a program is kept once it comes again
            until(lambda: len(place.worker.children()) == 2)
            assert place.imports() == before + 1
            assert set(first) < set(place.worker.children())
            before += 1
            assert place.worker.analyse(path)["failure"] is None
        until(lambda seen=before: place.imports() == seen + 2)  # by the run and by the process that keeps it
    until(lambda: len(place.worker.children()) == 2)
    assert not set(first) & set(place.worker.children())


def test_a_crash_of_a_run_leaves_the_process_that_forked_it(place: Place) -> None:
    place.warm()
    first = place.imports()
    crash = MODEL.replace("    return x", "    import ctypes\n    ctypes.string_at(0)\n    return x")
    failure = place.run(text=crash)["failure"]
    assert (failure["kind"], failure["line"]) == ("crash", 5)
    hang = MODEL.replace("    return x", "    while True:\n        pass\n    return x")
    assert place.run(text=hang, seconds=1.0)["failure"]["kind"] == "timeout"
    number = place.worker.send("analyse", analyse_params(place.model, text=hang, roots=(str(place.project),)))
    place.worker.say(json.dumps({"id": 0, "method": "cancel", "params": {"id": number}}).encode())
    assert place.worker.result(number)["failure"]["kind"] == "cancelled"
    assert place.imports() <= first + 1  # a crash is told only when a run from the worker itself has shown it too
    again = place.imports()
    assert place.run()["failure"] is None
    assert place.imports() == again


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("now", "same"),
    [((1, 1), True), ((CORES, 2), True), ((CORES + 1, 2), False), ((2, 1), False), ((0, 2), False)],
)
def test_the_threads_of_an_openblas_that_is_loaded_are_no_obstacle(now: tuple[int, int], same: bool) -> None:
    """As many as it starts, and only where one was loaded; (threads that Python does not know, OpenBLAS libraries)."""
    assert preload.is_as_before(preload.THREADS, now, (1, 1)) is same
