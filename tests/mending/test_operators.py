"""Names of operators: what torch takes, whatever the file is called."""

from __future__ import annotations

import pytest
import torch

from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.source import Source, read


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("/net.py", "pkg.net", "pkg_net::_f_check"),
        ("/src/pkg/__init__.py", "pkg", "pkg::_f_check"),
        ("C:\\net.py", "__main__", "__main__::_f_check"),
        ("/train-gpt.py", "train-gpt", "_train_gpt::_f_check"),
        ("/01_basics.py", "__main__", "_01_basics::_f_check"),
        ("/class.py", "class", "_class::_f_check"),
        ("/né t.py", "né t", "_n__t::_f_check"),
    ],
)
def test_names_that_torch_takes(path: str, name: str, text: str) -> None:
    source = read(path, "def f(x):\n    return x\n")
    assert isinstance(source, Source)
    made = eval(qualified(source, "_f_check"), {"__name__": name})
    assert made == text
    operator = torch.library.custom_op(made, mutates_args=())(_same)
    assert operator(torch.ones(2)).tolist() == [2.0, 2.0]


def _same(x: torch.Tensor) -> torch.Tensor:
    return x * 2
