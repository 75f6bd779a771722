"""Where a mend's own function is put: behind the imports that it needs, wherever they stand."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending.syntax.imports import add_function
from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.text import apply_edits

from .conftest import PATH

_FUNCTION = ["@torch.compiler.disable", "def _f_uncompiled(x):", "    return x"]


@pytest.mark.parametrize(
    "head",
    [
        "import torch\n",
        '"""What it is."""\n\n__all__ = ["f"]\n\nimport torch\nfrom math import pi\n',
        "import os\n\nos.environ['A'] = '1'\n\nimport torch  # late\n",
        "import sys\n\nif sys.version_info < (3,):\n    raise ImportError\n\nimport torch\n",
        "from math import pi\n\nTWO = 2 * pi\ntry:\n    import torch\nexcept ImportError:\n    torch = None\n",
        "def g():\n    return 1\n\n\nimport torch\n\n\nclass A:\n    pass\n",
        "import torch\n\nONE = 1\n\nimport torch\n",
    ],
)
def test_it_stands_behind_the_import_that_it_needs(head: str) -> None:
    text = f"{head}\n\ndef f(x):\n    return _f_uncompiled(x)\n"
    source = read(PATH, text)
    assert isinstance(source, Source)
    new = apply_edits(text, [add_function(source, _FUNCTION)])
    space: dict[str, Any] = {}
    exec(compile(new, PATH, "exec"), space)
    assert space["f"](1) == 1
    assert new.replace("\n".join(_FUNCTION), "").split() == text.split()


def test_one_that_needs_no_import_stands_behind_the_first_ones() -> None:
    text = "import os\n\nos.environ['A'] = '1'\n\n\n@_mark\ndef f(x):\n    return x\n\n\nimport torch\n"
    source = read(PATH, text)
    assert isinstance(source, Source)
    new = apply_edits(text, [add_function(source, ["def _mark(f):", "    return f"])])
    space: dict[str, Any] = {}
    exec(compile(new, PATH, "exec"), space)
    assert space["f"](1) == 1
