"""Programs that run uncompiled and raise when they are compiled: what is refused, where, and what is the program's own error."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.worker.worker_pipes import Worker

HEAD = "import contextlib\nimport torch\nimport torch._dynamo\n\n\n"
ENTRY = "\n\ndef graphmend_entry():\n    return f, [(torch.ones(3, 4),), (torch.zeros(3, 4),)]\n"


class Refused(NamedTuple):
    """A program's function, and the code that torch.compile fails at, with the error."""

    function: str
    code: str
    said: str


REFUSED = {
    "raised while it is traced": Refused(
        "def f(x):\n    try:\n        y = x[5]\n    except IndexError:\n        y = x[0]\n    return y * 2\n",
        "x[5]", "IndexError: index 5 is out of bounds",
    ),
    "in a function that is called": Refused(
        "def row(x):\n    with contextlib.suppress(IndexError):\n        return x[7]\n    return x[0]\n\n\n"
        "def f(x):\n    return row(x) + 1\n",
        "x[7]", "IndexError: index 7 is out of bounds",
    ),
    "an operator that is given no data": Refused(
        "def f(x):\n    return torch.as_tensor([row.max() for row in x])\n",
        "torch.as_tensor([row.max() for row in x])", "RuntimeError: The tensor has a non-zero number of elements",
    ),
    "a test of a size that data decides": Refused(
        "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n\n\n"
        "def f(x):\n    y = x[x > 0]\n    return y.max() if y.numel() else x.sum()\n",
        "y.max() if y.numel() else x.sum()", "GuardOnDataDependentSymNode: Could not guard",
    ),
    "values that a break makes anew": Refused(
        "def f(x):\n    items = [x, x + 1]\n    return x * 2 if x in items else x\n",
        "x in items", "RuntimeError: Boolean value of Tensor",
    ),
    "raised by a compiled operator": Refused(
        "def f(x):\n    y = x.T @ x\n    try:\n        y = torch.linalg.cholesky(y - 1)\n"
        "    except torch.linalg.LinAlgError:\n        y = y + 1\n    return y * 2\n",
        "torch.linalg.cholesky(y - 1)", "_LinAlgError: linalg.cholesky",
    ),
}  # fmt: skip


def _code(text: str, place: object) -> str:
    line = text.splitlines()[place["line"] - 1]  # type: ignore[index]
    return line[place["column"] : place["end_column"]]  # type: ignore[index]


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_torch_compile_refuses_is_recorded_at_its_place(worker: Worker, tmp_path: Path, refused: Refused) -> None:
    text = HEAD + refused.function + ENTRY
    result = worker.analyse(tmp_path / "model.py", text=text)
    assert result["failure"] is None
    found = [event for event in result["events"] if event["outcome"] == "refused"]
    assert {_code(text, event["frames"][-1]) for event in found} == {refused.code}
    assert all(event["root"]["explanation"].startswith(refused.said) for event in found)


def test_breaks_in_other_functions_are_met_all_the_same(worker: Worker, tmp_path: Path) -> None:
    text = HEAD + REFUSED["in a function that is called"].function + ENTRY
    text = text.replace("return row(x) + 1", "return signed(row(x))")
    text += "\n\ndef signed(y):\n    if y.sum() > 0:\n        y = y + 1\n    return y\n"
    events = worker.analyse(tmp_path / "model.py", text=text)["events"]
    assert {(event["outcome"], _code(text, event["frames"][-1])) for event in events} == {
        ("refused", "x[7]"),
        ("resumed", "y.sum() > 0"),
    }


OWN_ERRORS = {
    "compiled or not": "def f(x):\n    raise ValueError('no')\n",
    "compiled or not, in a call that is made later": "def f(x):\n    if x.sum() == 0:\n        raise ValueError('no')\n    return x\n",
    "behind what is handled": "def f(x):\n    try:\n        return x[5]\n    except IndexError:\n        raise ValueError('no') from None\n",
}


@pytest.mark.parametrize("function", OWN_ERRORS.values(), ids=OWN_ERRORS)
def test_an_error_of_the_program_itself_stays_its_error(worker: Worker, tmp_path: Path, function: str) -> None:
    result = worker.analyse(tmp_path / "model.py", text=HEAD + function + ENTRY)
    assert result["failure"] is not None and "ValueError: no" in result["failure"]["message"]
    assert all(event["outcome"] != "refused" for event in result["events"])


def test_what_only_a_first_compiled_call_raises_is_said(worker: Worker, tmp_path: Path) -> None:
    known = "KNOWN = []\n\n\ndef f(x):\n    if not KNOWN:\n        try:\n            y = x[7]\n        except IndexError:\n            KNOWN.append(0)\n    return x * 2\n"
    failure = worker.analyse(tmp_path / "model.py", text=HEAD + known + ENTRY)["failure"]
    assert failure is not None and "index 7 is out of bounds" in failure["message"]
    assert "only a first call that is compiled raises. Call it once before" in failure["remedy"]
