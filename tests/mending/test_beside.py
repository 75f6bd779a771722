"""Where a function that is made of some statements stands: behind the function that calls it, or at the top of the file."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .conftest import function_of, mended, unmark

_FUNCTION = """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + 1
    return x * y
"""
_CLASS = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        while ⟦x.sum() < 100⟧:
            x = x.abs() * 2 + 1
        return x * y


fn = Net()
"""
_CALLED = "x = Net._forward_uncompiled(x)"


def _after(source: str) -> str:
    text, site = unmark(source)
    return mended("isolate", text, site)


@pytest.mark.parametrize(
    "source",
    [
        _FUNCTION,
        _FUNCTION.replace("def fn", "@torch.compile\ndef fn"),
        _FUNCTION.replace("def fn", "@torch.compile(dynamic=True)\ndef fn"),
        _FUNCTION + "\n\n# the end\nprint(1)\n",
        _FUNCTION.rstrip("\n"),
    ],
)
def test_it_stands_directly_behind_its_function(source: str) -> None:
    after = _after(source)
    kept = "    while x.sum() < 100:\n        x = x.abs() * 2 + 1\n"
    made = "\n\n\n@torch.compiler.disable\ndef _fn_uncompiled(x):\n"
    assert after.index("    return x * y" + made) < after.index(kept) < after.index("    return x", after.index(kept))


@pytest.mark.parametrize(
    "source",
    [
        _FUNCTION.replace("def fn", "@run_now\ndef fn"),  # it may call what it decorates
        _FUNCTION + "    # of the function\n",
        _FUNCTION.replace("import torch\n\n\n", "") + "\n\nimport torch\n",  # what decorates it is bound behind
        _FUNCTION.replace("    return", "    y = y + 1\n    y = y + 2\n    return"),  # more lines would move
        "import torch\n\nif torch.cuda.is_available:\n"
        + "".join(f"    {one}\n" if one else "\n" for one in _FUNCTION.splitlines()[2:]),
    ],
)
def test_it_stands_at_the_top_where_that_may_be_too_late_or_moves_more(source: str) -> None:
    after = _after(source)
    assert "def _fn_uncompiled" in after and "x * y\n\n\n@torch" not in after


def test_it_stands_in_the_class_of_a_method() -> None:
    after = _after(_CLASS)
    made = "        return x * y\n\n    @staticmethod\n    @torch.compiler.disable\n    def _forward_uncompiled(x):\n"
    assert f"        {_CALLED}\n{made}" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class Net(", "@registered\nclass Net("),
        ("torch.nn.Module)", "torch.nn.Module, metaclass=Kind)"),
        ("torch.nn.Module)", "Base)"),  # from elsewhere: it may hold that name, or look at what a class holds
        ("torch.nn.Module)", "torch.nn.Module, Base)"),
        ("fn = Net()", "fn = Net()\nNet = torch.compile"),
        ("(self, x)", "(self, x, Net=None)"),
        ("    def forward", "    def __init_subclass__(cls):\n        print(vars(cls))\n\n    def forward"),
    ],
)
def test_it_stands_at_the_top_where_the_name_of_the_class_may_mean_another(old: str, new: str) -> None:
    after = _after(_CLASS.replace(old, new, 1))
    assert after.index("def _forward_uncompiled") < after.index("class Net") and "Net._forward" not in after


def test_a_class_of_the_file_may_be_its_base() -> None:
    base = "class Base(torch.nn.Module):\n    pass\n\n\nclass Net("
    assert _CALLED in _after(_CLASS.replace("class Net(", base).replace("Net(torch.nn.Module)", "Net(Base)"))


def test_a_subclass_with_a_function_of_that_name_changes_nothing() -> None:
    """The second class was mended in another file, and got the same name."""
    source = _CLASS.replace(
        "fn = Net()",
        "class More(Net):\n    def forward(self, x):\n        return super().forward(x) + self._other(x)\n\n"
        "    def _other(self, x):\n        return x\n\n\nfn = More()",
    )
    before: Any = function_of(unmark(source)[0])
    after: Any = function_of(_after(source).replace("_other", "_forward_uncompiled"))
    for x in (torch.ones(3), torch.full((3,), 200.0)):
        assert torch.equal(before(x), after(x))
