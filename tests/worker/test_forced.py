"""Checks that no call fails, made to fail in both programs: what each raises then, and what it leaves behind."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp import support
from graphmend_lsp.worker.forced import _Mended, failing_side, is_called
from tests.worker.test_verify import place
from tests.worker.worker_pipes import Worker, analyse_params

HEAD = "import torch\nfrom torch import nn\nfrom graphmend_support import check, check_tensor_all\n"
MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
    def forward(self, x):
        counts = (x > 0).sum(1)
{body}
def graphmend_entry():
    return Net(), (torch.tensor([[1.0, -2.0], [3.0, 4.0]]),)
"""
OPERATOR = """
@torch.library.custom_op("graphmend_test_forced::forward_check", mutates_args=(), tags=(torch.Tag.cudagraph_unsafe,))
def _forward_check(holds: torch.Tensor) -> torch.Tensor:
    if not holds:
        raise ValueError("too many")
    return torch.ones((), dtype=torch.bool)
@_forward_check.register_fake
def _fake(holds):
    return torch.empty((), dtype=torch.bool)
"""
RAISE = ("if counts.max() > x.shape[1]:", "    raise ValueError('too many')")
ASSERT = ("assert counts.max().item() <= x.shape[1], 'too many'",)
CHECK = "check(counts.max() <= x.shape[1], ValueError, 'too many')"
RETURN = "return x * counts[:, None]"


@dataclass(frozen=True)
class Case:
    """Bodies before and after the mend, the check's condition, and the words of differences when it is made to fail;
    None where it is not: then the verdict says only that it did not run."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    condition: str = "counts.max() > x.shape[1]"
    finds: tuple[str, ...] | None = ()
    head: str = ""


CASES = {
    "a check of the support module": Case((*RAISE, RETURN), (CHECK, RETURN)),
    "an assertion": Case(
        (*ASSERT, RETURN), ("assert check(counts.max() <= x.shape[1], AssertionError, 'too many')", RETURN),
        "counts.max().item() <= x.shape[1]",
    ),
    "an operator of the file": Case(
        (*RAISE, RETURN), ("torch._assert_async(_forward_check(counts.max() <= x.shape[1]), '_forward_check holds')", RETURN),
        head=OPERATOR,
    ),
    "at the end": Case((*RAISE, RETURN), (f"y = {RETURN.removeprefix('return ')}", *RAISE, "return y")),
    "an assertion of a tensor": Case(
        (*ASSERT, RETURN), ("assert counts.max() <= x.shape[1], 'too many'", RETURN),
        "counts.max().item() <= x.shape[1]", finds=("RuntimeError",),
    ),
    "another text": Case((*RAISE, RETURN), (CHECK.replace("too", "so"), RETURN), finds=("so many",)),
    "another exception": Case((*RAISE, RETURN), (CHECK.replace("Value", "Key"), RETURN), finds=("KeyError",)),
    "a state that is written in front of it": Case(
        (*RAISE, "self.seen += 1", RETURN), ("self.seen += 1", CHECK, RETURN), finds=("max abs diff 1.0",)
    ),
    "an index behind it": Case(
        (*RAISE, "return torch.arange(64.0)[counts] * x.sum()"), (CHECK, "return torch.arange(64.0)[counts] * x.sum()"),
        finds=("`index` behind the check reads what it checks",),
    ),
    "a choice beside it": Case(
        (*RAISE, "y = x.clone()", "y[x < 0] = 0", "return y"), (CHECK, "y = x.clone()", "y = torch.where(x < 0, 0, y)", "return y")
    ),
    "torch's check of a tensor": Case(
        ("torch._check_tensor_all(counts >= 0)", RETURN), ("check_tensor_all(counts >= 0)", RETURN), "counts >= 0"
    ),
    "torch's check with an exception and a message": Case(
        ("torch._check_tensor_all_with(ValueError, message=lambda: 'too few', cond=counts >= 0)", RETURN),
        ("check((counts >= 0)._is_all_true(), ValueError, 'too few')", RETURN), "counts >= 0",
    ),
    "torch's check, which only compiled code makes": Case(
        ("if torch.compiler.is_compiling():", "    torch._check_tensor_all(counts >= 0)", RETURN),
        ("if torch.compiler.is_compiling():", "    check_tensor_all(counts >= 0)", RETURN), "counts >= 0",
    ),
    "torch's check, which raises another exception": Case(
        ("if torch.compiler.is_compiling():", "    torch._check_tensor_all(counts >= 0)", RETURN),
        ("if torch.compiler.is_compiling():", "    check_tensor_all(counts >= 0, ValueError)", RETURN), "counts >= 0",
        finds=("ValueError",),
    ),
    "a check that is gone": Case((*RAISE, RETURN), (RETURN,), finds=None),
    "a branch": Case(
        ("if counts.max() > x.shape[1]:", "    x = x * 2", RETURN), ("x = torch.where(counts.max() > x.shape[1], x * 2, x)", RETURN), finds=None
    ),
}  # fmt: skip


ALONE = "check(x.max() <= 4, ValueError)\ny = x * 2\nassert x.min() <= 1\n"
TOGETHER = "check(x.max() <= 4, ValueError)\nassert x.min() <= 1\ncheck(x.sum() <= 1, ValueError)\n"
RANGES: dict[
    str, tuple[str, list[list[int]], int, int, list[int]]
] = {  # ..., checks before, all checks, the lines that fail
    "an operator": (ALONE, [[1, 1], [3, 3]], 0, 2, [1]),
    "an assertion beside an operator": (ALONE, [[1, 1], [3, 3]], 1, 2, [3]),
    "both in one range": (ALONE, [[1, 3]], 0, 1, [1]),
    "several in one range, as many as checks": (TOGETHER.replace("assert x.min() <= 1\n", ""), [[1, 2]], 1, 2, [2]),
    "which is whose cannot be told": (TOGETHER, [[1, 1], [2, 2]], 1, 3, []),
}


@pytest.mark.parametrize(("text", "ranges", "before", "count", "lines"), RANGES.values(), ids=RANGES)
def test_of_several_checks_one_fails(
    text: str, ranges: list[list[int]], before: int, count: int, lines: list[int]
) -> None:
    """Another check that fails in its place would hide what this one raises."""
    mended = _Mended(ranges, before, count)
    changed = ast.unparse(mended.visit(ast.parse(text))).splitlines()
    assert sorted(mended.found) == lines
    assert [number for number, line in enumerate(changed, 1) if "* 0" in line] == lines


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_check_that_no_call_fails_is_made_to_fail(worker: Worker, tmp_path: Path, case: Case) -> None:
    texts = [
        HEAD + case.head + MODULE.format(body="".join(f"        {line}\n" for line in body))
        for body in (case.before, case.after)
    ]
    (tmp_path / "graphmend_support.py").write_text(
        (Path(support.__file__).parent / "graphmend_support.py").read_text("utf-8"), "utf-8"
    )
    file = str(tmp_path / "program.py")
    first = texts[1].split(f"        {case.after[0]}\n")[0].count("\n") + 1
    candidate = {
        "id": "mend", "texts": {file: texts[1]}, "changed": {file: [[first, first + len(case.after) - 1]]},
        "conditions": [place(texts[0], case.condition, file)],
    }  # fmt: skip
    params = analyse_params(file, text=texts[0], roots=(str(tmp_path),), device="cpu", seconds=100.0)
    result = worker.result(worker.send("verify", {**params, "candidates": [candidate]}), 200)
    assert result["failure"] is None
    (one,) = result["candidates"]
    (side,) = one["sides"]
    assert (side.get("forced", False), side["true"] and side["false"]) == (case.finds is not None, case.finds == ())
    found = [each for each in one["differences"] if "assumes" in each or "made to fail" in each["call"]]
    assert [each["severity"] for each in found if each["severity"] != "exception"] == []
    said: list[str] = [each["detail"] for each in found if "made to fail" in each["call"]]
    assert bool(said) == bool(case.finds)
    for words in case.finds or ():
        assert any(words in each for each in said), one["differences"]


BRANCH = ("y = x * 3", "if counts.max() > 100:", "    y = y - y.mean()", "return y")
SIDES: dict[str, tuple[tuple[str, ...], bool, bool | None]] = {  # the mended body, whether an operator has it, the value
    "the same statements": (("y = 3 * x", *BRANCH[1:]), True, True),
    "others": (("y = 3 * x", BRANCH[1], "    y = y - y.max()", BRANCH[3]), True, None),
    "the same, which raise": (("y = 3 * x", BRANCH[1], "    y = y.view(7)", BRANCH[3]), True, None),
    "no operator": (("y = 3 * x", *BRANCH[1:]), False, None),
    "a condition that stands there twice": ((*BRANCH[:3], BRANCH[1], "    y = y * 1", BRANCH[3]), True, None),
    "a condition of another text": (("y = 3 * x", "if 100 < counts.max():", *BRANCH[2:]), True, None),
    "the same, which never end": (("y = 3 * x", "while 1 if counts.max() > 100 else 0:", *BRANCH[2:]), True, None),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("body", "outlined", "taken"), SIDES.values(), ids=SIDES)
def test_a_side_that_no_call_takes_is_taken_in_both(
    worker: Worker, tmp_path: Path, body: tuple[str, ...], outlined: bool, taken: bool | None
) -> None:
    """An operator runs the statements as they were: it is asked whether they give what the operator said of its results."""
    before = (BRANCH[0], *body[1:3], BRANCH[3]) if "view" in body[2] or "while" in body[1] else BRANCH
    texts = [HEAD + MODULE.format(body="".join(f"        {line}\n" for line in lines)) for lines in (before, body)]
    (tmp_path / "graphmend_support.py").write_text(
        (Path(support.__file__).parent / "graphmend_support.py").read_text("utf-8"), "utf-8"
    )
    file = str(tmp_path / "program.py")
    first = texts[1].split(f"        {body[0]}\n")[0].count("\n") + 1
    where = place(texts[0], "counts.max() > 100", file)
    candidate = {
        "id": "mend", "texts": {file: texts[1]}, "changed": {file: [[first, first + len(body) - 1]]}, "lowered": True,
        "conditions": [where], "outlined": [where] if outlined else [],
    }  # fmt: skip
    params = analyse_params(file, text=texts[0], roots=(str(tmp_path),), device="cpu", seconds=100.0)
    result = worker.result(worker.send("verify", {**params, "candidates": [candidate]}), 200)
    (side,) = result["candidates"][0]["sides"]
    assert (side.get("taken"), side["true"], side["false"]) == (taken, taken is True, True)
    assert not any("made" in each["call"] for each in result["candidates"][0]["differences"])


@pytest.mark.parametrize(
    ("statement", "side"),
    [("if a.any():\n    raise E", True), ("assert a.any(), m", False), ("if a.any():\n    n += 1\n    raise E", True),
     ("torch._check_tensor_all(a.any())", False), ("check_tensor_all(a.any())", False), ("f(a.any())", None),
     ("torch._check_tensor_all_with(E, a.any())", False), ("torch._check_tensor_all_with(a.any(), b)", None),
     ("if a.any():\n    raise E\nelse:\n    pass", None), ("if a.any():\n    pass", None), ("while a.any():\n    raise E", None)],
)  # fmt: skip
def test_which_side_of_a_condition_is_a_failed_check(statement: str, side: bool | None) -> None:
    where: Any = place(statement, "a.any()", "f.py")
    assert failing_side(statement, where) is side
    assert is_called(statement, where) == (side is False and not statement.startswith("assert"))
    assert failing_side("if (", where) is None
