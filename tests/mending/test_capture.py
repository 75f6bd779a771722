"""The capture rule: what it tells, where its decorator stands, and that a process keeps none of its settings."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import DEFAULT_STYLE, Style
from graphmend_lsp.model import Break, Frame, Mend, Span
from graphmend_lsp.text import Text, apply_edits

from .conftest import PATH, function_of, unmark


def _mend(
    source: str, outermost: str | None = None, gb_id: str = "GB0124", style: Style = DEFAULT_STYLE
) -> tuple[str, Mend]:
    value, site = unmark(source, outermost, gb_id)
    (mend,) = propose(site, {PATH: value}, ["capture"], styles={PATH: style}).mends
    return apply_edits(value, mend.edits), mend


def test_it_is_proven_under_inductor_and_says_that_the_device_waits() -> None:
    _, mend = _mend("import torch\n\n\ndef fn(x):\n    return x, ⟦x.sum().item()⟧\n")
    assert mend.inductor and not mend.cautions
    assert "still waits for" in mend.changes[0]


def test_a_product_of_two_numbers_from_data_is_never_safe() -> None:
    source = "def fn(x):\n    n = ⟦x[0].item()⟧\n    return x, n * n\n"
    assert _mend(source)[1].cautions == ("Line 3: a product of whole numbers beyond 64 bits is another one.",)
    assert not _mend("def fn(x):\n    n = ⟦x[0].item()⟧\n    return x * n, n * 2\n")[1].cautions


def test_int_of_what_may_be_nan_is_never_safe() -> None:
    assert _mend("def fn(x):\n    return x[: ⟦int(x.max())⟧]\n")[1].cautions
    assert not _mend("def fn(x):\n    return x[: ⟦int(x.argmax())⟧]\n")[1].cautions


@pytest.mark.parametrize(
    "computed", ["6 // n", "7 % n", "1.0 / n", "2 ** n", "1 << n", "math.log(n)", "divmod(9, n)", "x.numel() / n"]
)
def test_what_raises_in_python_only_is_refused(computed: str) -> None:
    source = f"import math\n\n\ndef fn(x):\n    n = ⟦x[0].item()⟧\n    return x + {computed}\n"
    value, site = unmark(source, None, "GB0124")
    answer = propose(site, {PATH: value}, ["capture"])
    assert not answer.mends and "raises for some numbers in Python" in answer.declined[0].reason


@pytest.mark.parametrize("computed", ["x / n", "x % n", "n ** 2", "n / 2", "n // 3 + n % 3", "(x * 2) // n"])
def test_what_raises_in_neither_or_in_both_is_mended(computed: str) -> None:
    _mend(f"def fn(x):\n    x = x.sin()\n    n = ⟦x[0].item()⟧\n    return {computed}\n")


def test_a_function_that_torchscript_compiles_beside_it_is_no_obstacle() -> None:
    gate = "@torch.jit.script\ndef gate(x):\n    return torch.tanh(x)\n"
    text, mend = _mend(f"import torch\n\n\n{gate}\n\ndef fn(x):\n    return gate(x) * ⟦x.sum().item()⟧\n")
    assert gate in text and not mend.cautions


@pytest.mark.parametrize("other", ["other = fn", "if True:\n    other = [fn]", "class other:\n    kept = fn"])
def test_a_function_that_torchscript_reaches_by_another_name_is_refused(other: str) -> None:
    gate = "@torch.jit.script\ndef gate(x):\n    return other(x)\n"
    value, site = unmark(f"import torch\n\n\ndef fn(x):\n    return x, ⟦x.sum().item()⟧\n\n\n{other}\n\n\n{gate}")
    assert not propose(site, {PATH: value}, ["capture"]).mends


def test_a_second_function_takes_the_decorator_that_is_there() -> None:
    first = (
        "import torch\n\n\ndef fn(x):\n    return x, x.sum().item()\n\n\ndef other(x):\n    return x, x.max().item()\n"
    )
    once, _ = _mend(first.replace("x.sum().item()", "⟦x.sum().item()⟧"))
    twice, _ = _mend(once.replace("x.max().item()", "⟦x.max().item()⟧"))
    assert twice.count("from graphmend_support import captures\n") == 1 and twice.count("@captures(capture_") == 2


def test_an_import_that_is_there_is_used() -> None:
    source = "import torch as th\nfrom functools import wraps\n\n\ndef fn(x):\n    return x, ⟦x.sum().item()⟧\n"
    text, _ = _mend(source, style=Style(support=None))
    assert "@wraps(function)" in text and "with th._dynamo.config.patch(" in text and "th._dynamo.eval_frame" in text


@pytest.mark.parametrize("fullgraph", [False, True])
def test_it_holds_for_the_function_alone(fullgraph: bool) -> None:
    """A function that calls itself runs, an exception leaves nothing set, and other functions break as before."""
    import torch
    from torch._dynamo.testing import CompileCounter

    text, _ = _mend(
        "import torch\n\n\ndef fn(x):\n    n = ⟦x[0].int().item()⟧\n    return x if n < 0 else x[:n].reshape(-1, 2)\n"
    )
    fn = function_of(text.replace("if n < 0", "if x.dim() > 1"))
    counter = CompileCounter()
    compiled = torch.compile(fn, backend=counter, fullgraph=fullgraph)
    assert compiled(torch.tensor([2.0, 1.0, 5.0])).tolist() == [[2.0, 1.0]]
    with pytest.raises(RuntimeError):
        compiled(torch.tensor([3.0, 1.0, 5.0]))
    assert counter.frame_count == 1
    assert not torch._dynamo.config.capture_scalar_outputs
    assert fn.__name__ == "fn" and fn.__wrapped__.__code__.co_varnames[0] == "x"


def test_the_setting_stands_above_decorators_whose_wrapper_is_compiled() -> None:
    """What the decorator gives is compiled as `wrapper`, which stands in another file as often as not."""
    library = "import functools\n\n\ndef paired(function):\n    @functools.wraps(function)\n    def wrapper(*args):\n        return function(*args), 1\n\n    return wrapper\n"
    program = (
        "import torch\nfrom library import paired, known\n\n\n@known\n@paired\ndef fn(x):\n    return x[x > 0] * 2\n"
    )
    within = Frame("library.py", "paired.<locals>.wrapper", span_of(library, "function(*args)"))
    place = span_of(program, "x[x > 0]")
    site = Break("program.py", place, "GB0036", "", "", "dynamo", chain=(within, Frame("program.py", "fn", place)))
    sources = {"program.py": program, "library.py": library}
    (mend,) = propose(site, sources, ["capture"]).mends
    assert (
        "\n@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)\n@known\n@paired\ndef fn"
        in apply_edits(program, mend.edits)
    )
    assert "in `fn`" in mend.title
    other = library.replace("paired", "unpaired")
    (mend,) = propose(site, {**sources, "library.py": other}, ["capture"]).mends
    assert {edit.path for edit in mend.edits} == {"library.py"}, "no decorator of `fn` has that wrapper"


def span_of(text: str, words: str) -> Span:
    start = text.index(words)
    return Span(Text(text).position(start), Text(text).position(start + len(words)))
