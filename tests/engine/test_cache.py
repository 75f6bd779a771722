"""Kept results: told where nothing has changed, never where anything has; whatever becomes of the folder."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from graphmend_lsp.engine import cached_needs, cached_question
from graphmend_lsp.engine.cache import Cache, Found, cache_folder, is_complete
from graphmend_lsp.engine.cached_needs import Hashes, holds, stamp_of
from graphmend_lsp.engine.cached_question import Question, question_of
from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Entry, Report
from tests.worker.worker_pipes import PYTHON

MODEL = """\
import glob, json, os
import torch
import helper
try:
    import extra
except ImportError:
    extra = None
HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = json.load(open(os.path.join(HERE, "config.json")))
PARTS = sorted(glob.glob(os.path.join(HERE, "parts", "*.txt")))
OPTIONAL = os.path.join(HERE, "absent.json")
try:
    open(OPTIONAL)
except OSError:
    pass
def f(x):
    y = helper.twice(x)
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    return y
def graphmend_entry():
    return f, (torch.ones(4),)
"""
FILES = {
    "model.py": MODEL,
    "helper.py": "from pack.inner import factor\ndef twice(x):\n    return x * factor()\n",
    "pack/__init__.py": "",
    "pack/inner.py": "def factor():\n    return 2\n",
    "config.json": '{"a": 1}',
    "parts/one.txt": "1",
    "unrelated.py": "A = 1\n",
}


@dataclass(frozen=True)
class Project:
    """A project that was checked and proven once."""

    folder: Path
    kept: Path
    report: Report
    config: WorkerConfig
    request: CheckRequest

    def recall(self, request: CheckRequest | None = None, config: WorkerConfig | None = None) -> Report | None:
        """What a new session tells without a worker."""

        async def work() -> Report | None:
            session = Session(config or self.config, cache=Cache(self.kept))
            try:
                return await session.recall(request or self.request)
            finally:
                await session.close()

        return asyncio.run(work())


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder, kept = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("kept") / "cache"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    config = WorkerConfig(python=PYTHON, cwd=str(folder))
    request = CheckRequest((str(folder / "model.py"),), roots=(str(folder),), device="cpu")

    async def work() -> Report:
        session = Session(config, cache=Cache(kept))
        try:
            return await session.prove(request, await session.check(request))
        finally:
            await session.close()

    report = asyncio.run(work())
    assert not report.failures
    assert [one.safety for finding in report.findings for one in finding.candidates] == ["safe"]
    return Project(folder, kept, report, config, request)


@pytest.fixture
def project(checked: Project, one_mender: None) -> Iterator[Project]:
    assert checked.recall() is not None  # else no test here shows anything
    yield checked
    for path in sorted(checked.folder.rglob("*"), reverse=True):
        name = str(path.relative_to(checked.folder))
        if path.is_dir() and not any(one.startswith(f"{name}/") for one in FILES):
            path.rmdir()
        elif path.is_file() and name not in FILES:
            path.unlink()
    for name, text in FILES.items():
        if not (checked.folder / name).exists() or (checked.folder / name).read_text() != text:
            (checked.folder / name).write_text(text)


@pytest.mark.slow
def test_what_has_not_changed_is_told_without_a_worker(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> None:
        raise AssertionError("the worker was started")

    monkeypatch.setattr("graphmend_lsp.engine.client.WorkerClient._spawn", refuse)
    told = project.recall()
    assert told is not None
    assert told.findings == project.report.findings
    assert (told.torch, told.python, told.device) == (project.report.torch, project.report.python, "cpu")
    assert [result.cached for result in told.entries] == [True]
    assert [replace(result, cached=False) for result in told.entries] == list(project.report.entries)


def write(name: str, text: str) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        (project.folder / name).parent.mkdir(exist_ok=True)
        (project.folder / name).write_text(text)

    return change


def same_size_and_time(name: str, old: str, new: str) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        path = project.folder / name
        before = path.stat()
        path.write_text(path.read_text().replace(old, new))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size

    return change


def gone(name: str) -> Callable[[Project], None]:
    return lambda project: (project.folder / name).unlink()


STALE: Mapping[str, Callable[[Project], None]] = {
    "the entry's file": write("model.py", MODEL + "\n"),
    "a module it imports": write("helper.py", FILES["helper.py"] + "A = 2\n"),
    "a module that is imported there": write("pack/inner.py", "def factor():\n    return 3\n"),
    "its package": write("pack/__init__.py", "A = 1\n"),
    "a text of the same size and time": same_size_and_time("pack/inner.py", "return 2", "return 3"),
    "a file that is read": write("config.json", '{"a": 2}'),
    "a file that is no more": gone("config.json"),
    "a file that was looked for": write("absent.json", "{}"),
    "a file in a folder that was listed": write("parts/two.txt", "2"),
    "one that is gone from there": gone("parts/one.txt"),
    "a module that was looked for": write("extra.py", ""),
    "a package that was looked for": write("extra/__init__.py", ""),
    "a package that comes before a module": write("helper/__init__.py", "def twice(x): return x"),
    "an extension module that comes before": write("helper.abi3.so", ""),
}


@pytest.mark.parametrize("name", STALE)
def test_a_stale_result_is_never_told(project: Project, name: str) -> None:
    STALE[name](project)
    assert project.recall() is None


FRESH: Mapping[str, Callable[[Project], None]] = {
    "another file": write("unrelated.py", "A = 2\n"),
    "a time": lambda project: os.utime(project.folder / "helper.py"),
    "the same text, written again": write("helper.py", FILES["helper.py"]),
    "bytecode": lambda project: shutil.rmtree(project.folder / "__pycache__", ignore_errors=True),
    "a folder of another name": lambda project: (project.folder / "outputs").mkdir(exist_ok=True),
}


@pytest.mark.parametrize("name", FRESH)
def test_what_was_not_loaded_does_not_count(project: Project, name: str) -> None:
    FRESH[name](project)
    assert project.recall() is not None


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        ({"helper.py": FILES["helper.py"]}, True),
        ({"helper.py": FILES["helper.py"] + "\n"}, False),
        ({"pack/inner.py": "def factor():\n    return 3\n"}, False),
        ({"model.py": MODEL, "unrelated.py": "A = 3\n"}, True),
        ({"extra.py": ""}, False),
        ({"extra/__init__.py": ""}, False),
    ],
)
def test_unsaved_texts_take_the_place_of_files(project: Project, texts: dict[str, str], known: bool) -> None:
    unsaved = {str(project.folder / name): text for name, text in texts.items()}
    assert (project.recall(replace(project.request, texts=unsaved)) is not None) is known


def test_an_undone_edit_is_known_again(project: Project) -> None:
    write("helper.py", "def twice(x):\n    return x + x\n")(project)
    assert project.recall() is None
    write("helper.py", FILES["helper.py"])(project)
    assert project.recall() is not None


def test_another_torch_or_package_is_another_result(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    original, real = cached_needs.signature_of, Hashes.get
    for ending in (os.path.join("torch", "version.py"), os.path.join("sympy", "__init__.py")):
        with monkeypatch.context() as patch:
            patch.setattr(
                cached_needs,
                "signature_of",
                lambda path, end=ending: (1, 2, 3, 4) if path.endswith(end) else original(path),
            )
            patch.setattr(
                Hashes,
                "get",
                lambda self, path, now, end=ending: "other" if path.endswith(end) else real(self, path, now),
            )
            assert project.recall() is None
    assert project.recall() is not None


def test_something_newly_installed_is_another_result(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    original = cached_needs._names
    added = lambda folder: [*original(folder), *(["new-1.0.dist-info"] if folder.endswith("site-packages") else [])]  # noqa: E731
    monkeypatch.setattr(cached_needs, "_names", added)
    assert project.recall() is None


PARAMS: dict[str, Any] = {
    "entry": {"file": "/a/m.py", "function": "f", "kind": "function"}, "texts": {}, "roots": ["/a"], "device": "auto",
    "mode": "eval", "limits": {"seconds": 1.0, "memory_mb": None}, "run": "real",
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"entry": {"file": "/a/n.py", "function": "f", "kind": "function"}},
        {"entry": {"file": "/a/m.py", "function": "g", "kind": "function"}},
        {"entry": {"file": "/a/m.py", "function": "f", "kind": "module"}},
        {"roots": []}, {"device": "cpu"}, {"mode": "train"}, {"run": "fake"}, {"run": "fake", "explore": 3},
        {"candidates": []}, {"before": None},
    ],
    ids=str,
)  # fmt: skip
def test_another_question_is_another_key(change: dict[str, Any]) -> None:
    one = question_of("analyse", PARAMS, WorkerConfig())
    other = question_of("analyse", {**PARAMS, **change}, WorkerConfig())
    assert one is not None and other is not None
    assert one.key != other.key


def test_limits_and_texts_are_no_part_of_the_key() -> None:
    one = question_of("analyse", PARAMS, WorkerConfig())
    other = question_of(
        "analyse", {**PARAMS, "limits": {}, "standing": True, "texts": {"/a/m.py": "a"}}, WorkerConfig()
    )
    assert one is not None and other is not None
    assert (one.key, other.texts) == (other.key, {"/a/m.py": "a"})


@pytest.mark.parametrize(
    "name", ["TORCH_LOGS", "TORCHDYNAMO_DISABLE", "CUDA_VISIBLE_DEVICES", "PYTHONPATH", "OMP_NUM_THREADS", "HF_HOME"]
)
def test_the_environment_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name, raising=False)
    keys = {
        question.key
        for value in ("", "1", "2")
        if (question := question_of("analyse", PARAMS, WorkerConfig(env={name: value})))
    }
    one = question_of("analyse", PARAMS, WorkerConfig())
    assert one is not None
    assert len(keys | {one.key}) == 4


def test_machine_interpreter_folder_and_worker_are_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(config: WorkerConfig) -> str:
        question = question_of("analyse", PARAMS, config)
        assert question is not None
        return question.key

    plain = WorkerConfig(cwd="/")
    keys = [
        key(plain),
        key(WorkerConfig(cwd=str(tmp_path))),
        key(WorkerConfig(python=str(tmp_path / "python"), cwd="/")),
    ]
    for name in ("_worker", "_machine"):
        with monkeypatch.context() as patch:
            patch.setattr(cached_question, name, lambda: "other")
            keys.append(key(plain))
    assert len(set(keys)) == len(keys)


def test_a_worker_elsewhere_has_no_cache() -> None:
    assert question_of("analyse", PARAMS, WorkerConfig(command=("ssh", "box", "python"))) is None
    assert question_of("analyse", PARAMS, WorkerConfig(path_map=(("/a", "/b"),))) is None
    assert question_of("analyse", {**PARAMS, "sources": {"/a/m.py": ""}}, WorkerConfig()) is None


# What is kept


def needs(**parts: Any) -> Any:
    return {
        "modules": [], "read": [], "names": [], "listed": [], "doubts": [], "suffixes": [".py"], "begun": 2**63,
        "standing": {"files": [], "folders": [], "begun": 2**63}, "before": None, **parts,
    }  # fmt: skip


HELLO: Any = {"torch": "2.13.0", "python": "3.11.7"}
QUESTION = Question("a" * 40, {})


def keep(cache: Cache, key: str = "a" * 40, events: Any = (), **parts: Any) -> bool:
    return cache.keep(Question(key, {}), {"events": list(events), "failure": None, "needs": needs(**parts)}, HELLO)


@pytest.mark.parametrize(
    "result",
    [
        {"failure": {"kind": "exception"}},
        {"failure": None, "candidates": [{"failure": {"kind": "timeout"}}]},
        {"failure": None, "tensor_bytes": 600, "available_bytes": 1000},
    ],
)
def test_what_failed_or_hung_on_the_machine_is_run_again(tmp_path: Path, result: dict[str, Any]) -> None:
    assert not is_complete(result)
    assert not Cache(tmp_path).keep(QUESTION, {**result, "needs": needs()}, HELLO)
    assert list(tmp_path.iterdir()) == []


def test_doubts_and_changes_since_the_run_began_are_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("A = 1\n")
    old = file.stat().st_ctime_ns
    cache = Cache(tmp_path / "kept")
    assert not keep(cache, doubts=["the program forked"])
    assert not keep(cache, modules=[str(file)], begun=old)
    assert not keep(cache, modules=[str(tmp_path / "gone.py")])
    assert not keep(cache, before=needs(modules=[str(file)], begun=old))
    assert not keep(cache, before=needs(doubts=["the program forked"]))
    assert cache.find(QUESTION) is None
    assert keep(cache, modules=[str(file)], begun=old + 10**9)
    assert cache.find(QUESTION) is not None


def test_a_worker_whose_packages_changed_keeps_nothing(tmp_path: Path) -> None:
    file = tmp_path / "torch.py"
    file.write_text("A = 1\n")
    cache = Cache(tmp_path / "kept")
    assert not keep(cache, standing={"files": [str(file)], "folders": [], "begun": file.stat().st_ctime_ns})
    assert not keep(cache, standing=None)


def test_a_young_file_is_hashed_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.py"
    file.write_text("A = 1\n")
    stamp = stamp_of(needs(modules=[str(file)]), {}, Hashes())
    assert stamp is not None
    assert stamp.files[0][3] is None
    signature = cached_needs.signature_of(str(file))
    file.write_text("A = 2\n")
    monkeypatch.setattr(cached_needs, "signature_of", lambda _path: signature)  # as in one tick of a coarse clock
    assert not holds(stamp, {}, Hashes())


def test_an_old_file_is_known_by_its_signature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.py"
    file.write_text("A = 1\n")
    monkeypatch.setattr(cached_needs, "RACY", -5.0)
    stamp = stamp_of(needs(modules=[str(file)]), {}, Hashes())
    assert stamp is not None
    assert stamp.files[0][3] is not None
    reads: list[str] = []
    monkeypatch.setattr(Hashes, "get", lambda _self, path, _signature: reads.append(path) or "")
    assert holds(stamp, {}, Hashes())
    assert reads == []
    os.utime(file)
    assert not holds(stamp, {}, Hashes())
    assert reads == [str(file)]


def test_on_windows_content_alone_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_needs.os, "name", "nt")
    assert not cached_needs.is_settled((1, 1, 1, 1))


@pytest.mark.parametrize("text", ["# coding: latin-1\nA = 'é'\n", "A = 1\n"])
def test_a_text_is_not_taken_for_bytes_of_another_encoding(tmp_path: Path, text: str) -> None:
    file = tmp_path / "m.py"
    file.write_bytes(text.encode())
    same = Hashes().get(str(file), cached_needs.signature_of(str(file))) == cached_needs.digest_of_text(text)
    assert same == ("coding" not in text)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"garbage" + data,
        lambda _data: zlib.compress(b"[1, 2]"),
        lambda _data: zlib.compress(b"{}"),
        lambda data: zlib.compress(
            json.dumps({**json.loads(zlib.decompress(data)), "needs": {"files": [[1]]}}).encode()
        ),
        lambda _data: zlib.compress(b"[" * 100_000),
    ],
)
@pytest.mark.parametrize("which", ["answer", "environment"])
def test_a_damaged_entry_is_ignored_and_removed(tmp_path: Path, damage: Callable[[bytes], bytes], which: str) -> None:
    cache = Cache(tmp_path)
    assert keep(cache)
    path = next(one for one in tmp_path.iterdir() if one.name.startswith("environment") == (which == "environment"))
    path.write_bytes(damage(path.read_bytes()))
    assert cache.find(QUESTION) is None
    assert not path.exists()
    assert keep(cache)
    assert cache.find(QUESTION) is not None


def test_many_may_write_and_read_at_once(tmp_path: Path) -> None:
    big = [{"text": "x" * 10_000}] * 50

    def work(number: int) -> Found | None:
        cache, key = Cache(tmp_path), f"{number % 3}" * 40
        assert keep(cache, key, big)
        return cache.find(Question(key, {}))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(60)))
    assert all(one is not None and one.result["events"] == big for one in found)
    assert not list(tmp_path.glob("*.tmp"))


def test_the_folder_stays_small(tmp_path: Path) -> None:
    cache = Cache(tmp_path, most_bytes=6000)
    for number in range(10):
        assert keep(cache, f"{number}" * 40, [os.urandom(500).hex()])
        for path in tmp_path.glob(f"{number}*"):
            os.utime(path, (1e9 + number, 1e9 + number))
    for path in tmp_path.glob("environment*"):
        os.utime(path)
    os.utime(next(tmp_path.glob("0*")))  # used again
    Cache(tmp_path, most_bytes=6000, oldest=1e12).sweep()
    left = sorted(path.name[0] for path in tmp_path.iterdir())
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 6000
    assert {"0", "9", "e"} <= set(left)
    assert "1" not in left
    Cache(tmp_path, oldest=-1.0).sweep()
    assert list(tmp_path.iterdir()) == []


def test_few_states_of_a_question_are_kept(tmp_path: Path) -> None:
    file, cache = tmp_path / "m.py", Cache(tmp_path / "kept")
    for number in range(8):
        file.write_text(f"A = {number}\n")
        assert keep(cache, modules=[str(file)])
    assert len(list((tmp_path / "kept").glob("a*"))) == 4
    assert cache.find(QUESTION) is not None


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    assert not keep(cache)
    assert cache.find(QUESTION) is None


@pytest.mark.parametrize(
    ("told", "system", "expected"),
    [
        ("/c", "/h/.cache/graphmend", "/c"),
        ("", "/h/.cache/graphmend", None),
        (None, "/h/.cache/graphmend", "/h/.cache/graphmend"),
        (None, "x/graphmend", None),
    ],
)
def test_where_results_are_kept(
    monkeypatch: pytest.MonkeyPatch, told: str | None, system: str, expected: str | None
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *words, **more: asked.append((words, more)) or system)
    environ = {} if told is None else {"GRAPHMEND_CACHE_DIR": told}
    assert cache_folder(environ) == (None if expected is None else Path(expected))
    assert asked == ([] if told is not None else [(("graphmend",), {"appauthor": False})])


@pytest.mark.skipif(sys.platform != "linux", reason="the variable of Linux")
def test_the_cache_folder_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder({}) == Path("/x/graphmend")


def test_only_the_cache_folder_is_written(checked: Project) -> None:
    names = {path.name for path in checked.kept.iterdir()}
    assert names and all(name.endswith(".json.z") for name in names)
    for path in checked.kept.iterdir():
        assert isinstance(json.loads(zlib.decompress(path.read_bytes())), dict)
    assert Entry(str(checked.folder / "model.py"), "graphmend_entry") in [
        result.entry for result in checked.report.entries
    ]
