"""TORCH_TRACE folders: excerpts of torch 2.11, 2.13 and 2.15 (see traces/excerpt.py), and what is damaged or elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.engine.recorded import Recording, standing
from graphmend_lsp.engine.recorded_report import report_of
from graphmend_lsp.engine.trace_messages import Link, read_links
from graphmend_lsp.engine.trace_records import Reading, read_records
from graphmend_lsp.engine.traces import TraceRead, read_trace
from graphmend_lsp.model import Break
from graphmend_lsp.text import Text

TRACES = Path(__file__).parent / "traces"
TRAIN = TRACES / "train.py"
TEXT = Text(TRAIN.read_text())
EXCERPTS = sorted(TRACES.glob("*.log"))
HERE = PathMap(((str(TRACES), "/elsewhere"),))

# the mark on the line -> id, outcome, the source of the place, and the functions that led there
EXPECTED = {
    "# the whole line": ("GB0059", "resumed", 'print("mean", y.shape)', ["forward", "helper"]),
    "# a condition": ("GB0170", "resumed", "y.sum() > 0", ["forward"]),
    "# in a loop": ("GB0170", "frame skipped", "y.max() > 10", ["forward"]),
    "# over lines": ("GB0170", "resumed", "y.mean().isnan()", ["forward"]),
    "# fullgraph": ("GB0059", "raised", 'print("é", x)', ["strict"]),
    "# an expression": ("GB0124", "resumed", "n.item()", ["scaled"]),
    "@torch.compile(backend=\"eager\", dynamic=False)": (
        "GB0039", "frame skipped", '@torch.compile(backend="eager", dynamic=False)', ["again"],
    ),
}  # fmt: skip


def folder_of(tmp_path: Path, *excerpts: Path) -> Path:
    for number, excerpt in enumerate(excerpts):
        shutil.copy(excerpt, tmp_path / f"dedicated_log_torch_trace_{number}.log")
    return tmp_path


def recording(read: TraceRead) -> Recording:
    assert read.recording is not None
    return read.recording


def by_mark(found: Recording) -> dict[str, Break]:
    marks = {}
    for one in found.sites:
        line = TEXT.line(one.site.span.start.line)
        marks[next((mark for mark in EXPECTED if mark in line), line)] = one.site
    return marks


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda path: path.stem)
def test_each_version_s_trace_gives_the_same_breaks(tmp_path: Path, excerpt: Path) -> None:
    read = read_trace(folder_of(tmp_path, excerpt), HERE)
    assert read.failures == ()
    found = by_mark(recording(read))
    assert {
        mark: (site.code, site.outcome, TEXT.slice(site.span), [frame.function for frame in site.chain])
        for mark, site in found.items()
    } == EXPECTED
    assert all(site.evidence == "recorded" and site.path == str(TRAIN) for site in found.values())
    version = excerpt.stem.split("-")[1]
    assert (recording(read).torch or "").startswith(version)
    (result,) = recording(read).results
    assert result.entry.name == "train.py:run"
    assert result.skipped_frames >= 2
    assert result.graphs > 10


def test_the_parts_of_a_message() -> None:
    reading = Reading()
    for record in read_records(TRACES / "torch-2.13.log", lambda said: "artifact" in said, reading):
        if record.payload and "in a loop" not in record.payload and "graph break in loop" in record.payload:
            break
    found = by_mark(recording(read_trace(TRACES / "torch-2.13.log", HERE)))["# in a loop"]
    assert found.gb_id == "GB7000"
    assert (found.root_gb_id, found.root_gb_type) == ("GB0170", "Data-dependent branching")
    assert found.explanation.startswith("Detected data-dependent branching")
    assert any("torch.cond" in hint for hint in found.hints)


def test_why_functions_were_compiled_anew(tmp_path: Path) -> None:
    notes = recording(read_trace(folder_of(tmp_path, TRACES / "torch-2.13.log"), HERE)).notes
    assert any("again" in note and "8 times" in note and "tensor 'x' size mismatch" in note for note in notes)


def test_ranks_are_merged(tmp_path: Path) -> None:
    for rank in (0, 1):
        lines = (TRACES / "torch-2.15.log").read_text().replace('"frame_id"', f'"rank": {rank}, "frame_id"')
        (tmp_path / f"rank_{rank}.log").write_text(lines)
    found = recording(read_trace(tmp_path, HERE))
    assert [result.entry.name for result in found.results] == ["train.py:rank 0", "train.py:rank 1"]
    assert len(found.sites) == len(EXPECTED)
    assert all(one.site.entries == ("train.py:rank 0", "train.py:rank 1") for one in found.sites)


def test_without_a_mapping_the_breaks_are_told_where_they_were(tmp_path: Path) -> None:
    found = recording(read_trace(folder_of(tmp_path, TRACES / "torch-2.13.log"), PathMap()))
    assert {one.site.path for one in found.sites} == {"/elsewhere/train.py"}
    assert len(found.sites) == len(EXPECTED)
    assert found.files == {}
    report = report_of(found)
    assert {finding.declined[0].reason for finding in report.findings} == {"GraphMend cannot read its source."}


def test_a_file_that_reads_otherwise_here_is_told_by_line_and_not_mended(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("# one line more\n" + TEXT.value)
    traces = tmp_path / "traces"
    traces.mkdir()
    found = recording(
        read_trace(folder_of(traces, TRACES / "torch-2.13.log"), PathMap(((str(project), "/elsewhere"),)))
    )
    assert found.files == {}
    assert any("has changed since it ran" in note for note in found.notes)
    assert all(not finding.candidates and finding.declined for finding in report_of(found).findings)
    assert not any(standing((one,), None, (project / "train.py").read_text()) for one in found.sites)


@pytest.mark.slow
def test_proposals_are_made_and_not_verified() -> None:
    report = report_of(recording(read_trace(TRACES / "torch-2.13.log", HERE)))
    safeties = {one.safety for finding in report.findings for one in finding.candidates}
    assert safeties == {"unverified"}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_says_so_and_gives_what_it_has(tmp_path: Path, share: float) -> None:
    data = (TRACES / "torch-2.13.log").read_bytes()
    (tmp_path / "a.log").write_bytes(data[: int(len(data) * share)])
    read = read_trace(tmp_path, HERE)
    assert len(recording(read).sites) <= len(EXPECTED)
    whole = {one.site.span for one in recording(read_trace(TRACES / "torch-2.13.log", HERE)).sites}
    assert {one.site.span for one in recording(read).sites} <= whole
    if read.failures:
        assert "damaged" in read.failures[0].words


def test_a_damaged_payload_is_left_out(tmp_path: Path) -> None:
    text = (TRACES / "torch-2.13.log").read_text()
    (tmp_path / "a.log").write_text(text.replace("Data-dependent branching", "Data-dependent branchinG", 1))
    read = read_trace(tmp_path, HERE)
    assert [failure.message for failure in read.failures] == [
        next(failure.message for failure in read.failures if "1 of " in failure.message)
    ]
    assert "# a condition" not in by_mark(recording(read))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no file or folder"),
        (b"", "no trace of torch"),
        (b"\x00\xff" * 1000, "no trace of torch"),
        (b"V1121", "no trace"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "x.log").write_bytes(content)
    read = read_trace(tmp_path if content is not None else tmp_path / "nowhere", PathMap())
    assert read.recording is None
    assert message in read.failures[-1].message
    assert "TORCH_TRACE" in read.failures[-1].remedy


def test_files_of_any_size_are_read_in_little_memory(tmp_path: Path) -> None:
    big = tmp_path / "big.log"
    head = b'V1121 07:15:07.480000 1 torch/_dynamo/x.py:1] {"chromium_event": {}, "has_payload": "00"}\n'
    with big.open("wb") as file:
        file.write((TRACES / "torch-2.13.log").read_bytes())
        for _ in range(40):
            file.write(head + b"\t" + b"x" * 1_000_000 + b"\n")
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom graphmend_lsp.engine.trace_records import Reading, read_records\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nreading = Reading()\n"
        "count = sum(1 for _ in read_records(Path(sys.argv[1]), lambda said: 'artifact' in said, reading))\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(big)], capture_output=True, text=True, check=True, timeout=120
    )
    count, kilobytes = map(int, shown.stdout.split())
    assert count > 40
    assert kilobytes < 16_000


CARETS = """\
  File "/a b/x.py", line 3, in f
    return x + n.item()
               ^^^^^^^^
  File "C:\\\\y.py", line 40, in <lambda>
  File "/z.py", line 7, in g
    print(1)
"""


def test_frames_of_a_traceback() -> None:
    assert list(read_links(CARETS)) == [
        Link("/a b/x.py", 3, "f", "return x + n.item()", (11, 19)),
        Link("C:\\\\y.py", 40, "<lambda>"),
        Link("/z.py", 7, "g", "print(1)"),
    ]


@pytest.mark.slow
def test_a_trace_made_now_tells_what_a_recording_of_the_same_run_does(tmp_path: Path) -> None:
    traces, out = tmp_path / "traces", tmp_path / "report.json"
    words = [sys.executable, "-m", "graphmend_lsp", "record", "--out", str(out), "--", sys.executable, str(TRAIN)]
    env = {**os.environ, "TORCH_TRACE": str(traces), "GRAPHMEND_STATE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    recorded = {
        (one["line"], one["column"], one["end_line"], one["end_column"], one["gb_id"], one["outcome"], one["events"])
        for one in json.loads(out.read_text())["breaks"]
    }
    read = recording(read_trace(traces, PathMap()))
    traced = {
        (
            one.site.span.start.line, one.site.span.start.column, one.site.span.end.line, one.site.span.end.column,
            one.site.code, one.site.outcome, one.site.events,
        )
        for one in read.sites
    }  # fmt: skip
    assert traced == recorded
