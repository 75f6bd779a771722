"""What the recorder says of constructs whose breaks are known: ids, outcomes, exact source, chain, graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worker.breaks import CASES, HEAD, Expected, expected_of
from tests.worker.worker_pipes import Worker

FILE = "/nowhere/at_all/breaks_model.py"


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))


def source() -> str:
    parts = [HEAD]
    for number, (name, (body, _)) in enumerate(CASES.items()):
        if name.startswith("m: "):
            parts.append(
                f"class M{number}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.layer = nn.Linear(4, 4)\n        self.register_buffer('seen', torch.tensor(0))\n"
                f"    def forward(self, x):\n{indented(body, 8)}\n"
                f"def entry_{number}(): return M{number}(), (torch.arange(1.0, 5.0),)\n"
            )
        else:
            parts.append(
                f"def f{number}(x):\n{indented(body, 4)}\ndef entry_{number}(): return f{number}, (torch.arange(1.0, 5.0),)\n"
            )
    return "\n".join(parts)


def cut(text: str, place: dict[str, Any]) -> str:
    """The source of a place of the wire: byte columns; the line where Python knows no columns (before 3.11)."""
    if place["column"] is None:
        return text.split("\n")[place["line"] - 1].strip()
    lines = text.encode().split(b"\n")[place["line"] - 1 : place["end_line"]]
    lines[-1] = lines[-1][: place["end_column"]]
    lines[0] = lines[0][place["column"] :]
    return b"\n".join(lines).decode()


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
@pytest.mark.slow
def test_ids_outcomes_and_ranges(worker: Worker, number: int) -> None:
    expected = expected_of(list(CASES)[number], worker.hello["torch"], python_of(worker))
    text = source()
    result = worker.analyse(FILE, f"entry_{number}", text=text)
    assert result["failure"] is None
    found: Expected = []
    for event in result["events"]:
        frame = [frame for frame in event["frames"] if frame["file"] == FILE][-1]
        found.append((event["root"]["gb_id"], event["outcome"], cut(text, frame)))
        assert event["frames"][0]["file"] == FILE
        assert event["call"] == 0
    python = python_of(worker)
    if python < (3, 11):  # there only lines are known: each holds what is expected, or where that begins
        assert all(
            begin(want) in said or said in want for (_, _, said), (_, _, want) in zip(found, expected, strict=True)
        )
        found = [(gb_id, outcome, want) for (gb_id, outcome, _), (_, _, want) in zip(found, expected, strict=True)]
    elif python >= (3, 12):  # there the condition of a truth test is exact
        found = [(gb_id, outcome, said) for gb_id, outcome, said in found]
        expected = [(gb_id, outcome, said.removeprefix("if ").partition(":\n")[0] if said.startswith("if ") else said)
                    for gb_id, outcome, said in expected]  # fmt: skip
    assert found == expected
    assert len(result["skipped"]) == sum(outcome == "frame skipped" for _, outcome, _ in expected)


def begin(said: str) -> str:
    return said.split("\n")[0].strip()


def python_of(worker: Worker) -> tuple[int, ...]:
    return tuple(map(int, worker.hello["python"].split(".")[:2]))


def called(worker: Worker, names: list[str]) -> list[str]:
    """Functions as they are told: without their classes where Python does not know them (before 3.11)."""
    return names if python_of(worker) >= (3, 11) else [name.rpartition(".")[2] for name in names]


def analyse(worker: Worker, body: str, function: str = "graphmend_entry", **options: Any) -> dict[str, Any]:
    return worker.analyse(FILE, function, text=HEAD + body, **options)


def test_the_parts_of_the_message_are_apart(worker: Worker) -> None:
    result = analyse(
        worker,
        "def f(x):\n    for i in range(2):\n        print(x)\n    return x + 1\ndef graphmend_entry(): return f, torch.ones(2)\n",
    )
    (event,) = result["events"]
    assert (event["cause"]["gb_id"], event["cause"]["gb_type"]) == ("GB7000", "graph break in loop")
    assert event["root"]["gb_type"] == "Failed to trace builtin operator"
    assert "print" in event["root"]["context"]
    assert event["root"]["explanation"]
    assert event["root"]["hints"]
    assert event["compiled"] == "f"
    assert result["skipped"][0]["function"] == "f"


def test_the_chain_goes_from_the_call_to_the_site(worker: Worker) -> None:
    body = (
        "class Block(nn.Module):\n    def forward(self, x):\n        x = x + 1\n        print(x)\n        return middle(x)\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.block = Block()\n"
        "    def forward(self, x):\n        if x.sum() > 0:\n            x = x * 2\n        return self.block(x) * 2\n"
        "def graphmend_entry(): return Net(), torch.ones(4)\n"
    )
    result = analyse(worker, body)
    chains = [[frame["function"] for frame in event["frames"]] for event in result["events"]]
    assert chains[0] == called(worker, ["Net.forward"])
    assert chains[1] == called(worker, ["Net.forward", "Block.forward"])
    assert chains[-1] == called(worker, ["Net.forward", "Block.forward", "middle", "inner"])
    assert len(result["events"]) == 1 + 2 + 3  # one for each frame that Dynamo compiles on the way
    texts = [cut(HEAD + body, frame) for frame in result["events"][-1]["frames"]]
    expected = ["self.block(x)", "middle(x)", "inner(x * 2)", "print(y)"]
    assert all(want in said for want, said in zip(expected, texts, strict=True))
    assert python_of(worker) < (3, 11) or texts == expected
    assert {frame["kind"] for event in result["events"] for frame in event["frames"]} == {"code"}


def test_a_method_of_a_logger_is_known_as_one(worker: Worker) -> None:
    result = analyse(
        worker, "def f(x):\n    log.warn_here('a')\n    return x + 1\ndef graphmend_entry(): return f, torch.ones(2)\n"
    )
    frames = result["events"][0]["frames"]
    assert (
        cut(HEAD + "def f(x):\n    log.warn_here('a')\n", [frame for frame in frames if frame["function"] == "f"][-1])
        == "log.warn_here('a')"
    )
    assert all(frame["kind"] == "logger" for frame in frames if frame["function"] == "once")


def test_recompiling_too_often_is_a_break(worker: Worker) -> None:
    body = "def f(x, n):\n    return x * n\ndef graphmend_entry():\n    torch._dynamo.config.automatic_dynamic_shapes = False\n"
    body += "    torch._dynamo.config.recompile_limit = 2\n    return f, [(torch.ones(2), n) for n in range(2, 8)]\n"
    result = analyse(worker, body)
    assert [(event["root"]["gb_id"], event["outcome"]) for event in result["events"]][:1] == [
        ("GB0039", "frame skipped")
    ]
    assert [graph["call"] for graph in result["graphs"]] == [0, 1]


def test_graphs_and_breaks_have_an_order(worker: Worker) -> None:
    body = """
def inner(x):
    print('b')
    return x * 3

def f(x):
    x = x + 1
    print('a')
    x = x.sin() * 2
    inner(x)
    for _ in range(2):
        if x.sum() > 9:
            x = x - 1
    return x

def graphmend_entry(): return f, torch.ones(2)
"""
    result = analyse(worker, body)
    graphs = [(graph["function"], graph["ops"], graph["events"], graph["ends"]) for graph in result["graphs"]]
    # `print('a')` ends the graph of `x + 1`, `print('b')` that of f's next two; it is met again in inner, before its graph;
    # the rest of f is left to Python
    assert graphs == [("f", 1, 1, 1), ("f", 2, 2, 1), ("inner", 1, 3, 0)]
    assert [event["compiled"] for event in result["events"]] == ["f", "f", "inner", "f"]
    assert [event.get("resuming", False) for event in result["events"]] == [False, True, False, True]


def test_places_in_a_resumed_function_are_those_of_its_text(worker: Worker) -> None:
    """Torch writes wrong lines into the code of a function that it resumes, behind a method that is looked up on another line."""
    lines = [f"    x = said(x.mul(\n        {n}).add(1))\n" for n in range(2, 7)]
    body = "import sys\ndef said(x):\n    print(x.shape)\n    return x\ndef f(x):\n" + "".join(lines) + "    return x\n"
    body += "def graphmend_entry(): return f, torch.ones(2)\n"
    result = analyse(worker, body)
    frames = [frame for event in result["events"] for frame in event["frames"] if frame["function"] == "f"]
    texts = dict.fromkeys(cut(HEAD + body, frame) for frame in frames)
    expected = [f"said(x.mul(\n        {n}).add(1))" for n in range(2, 7)]
    assert all(any(want in said for said in texts) for want in expected)
    assert python_of(worker) < (3, 11) or list(texts) == expected


def test_what_cannot_be_recorded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo import symbolic_convert

    from graphmend_lsp.worker.recorder import missing_hooks

    assert missing_hooks() == []
    monkeypatch.delattr(symbolic_convert.InstructionTranslatorBase, "log_graph_break")
    assert missing_hooks() == ["torch._dynamo.symbolic_convert.InstructionTranslatorBase.log_graph_break"]


@pytest.mark.slow
def test_t5_of_transformers(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "t5_entry.py"
    file.write_text(
        "import torch\nfrom transformers import T5Config, T5ForConditionalGeneration\n"
        "def graphmend_entry():\n"
        "    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0)\n"
        "    ids = torch.ones(1, 5, dtype=torch.long)\n"
        "    return T5ForConditionalGeneration(config), {'input_ids': ids, 'labels': ids}\n"
    )
    result = worker.analyse(file)
    assert result["failure"] is None
    assert len(result["graphs"]) - 1 == 3
    for event in result["events"]:
        last = event["frames"][-1]
        assert Path(last["file"]).name == "modeling_t5.py"
        assert ([last["function"]], last["line"]) == (called(worker, ["T5Stack.forward"]), 1019)
        assert event["root"]["gb_id"] == "GB0291"
        said = cut(Path(last["file"]).read_text(), last)
        assert said.startswith("logger.warning_once(")
        assert python_of(worker) < (3, 11) or said.endswith(")")


def test_what_a_mend_has_put_around_a_function_is_no_link_of_the_chain(worker: Worker, tmp_path: Path) -> None:
    support = Path(__file__).parents[2] / "server" / "graphmend_lsp" / "support" / "graphmend_support.py"
    (tmp_path / support.name).write_text(support.read_text("utf-8"), "utf-8")
    text = (
        "import torch\nfrom graphmend_support import captures\n"
        "@captures(capture_scalar_outputs=True)\ndef g(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"
        "def f(x): return g(x) * 2\n"
        "def graphmend_entry(): return f, (torch.ones(4),)\n"
    )
    events = worker.analyse(tmp_path / "model.py", text=text)["events"]
    assert ["f", "g"] in [[frame["function"] for frame in event["frames"]] for event in events]
