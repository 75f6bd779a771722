"""Names of operators: what torch takes, whatever the file is called."""

from __future__ import annotations

import zlib

import pytest
import torch

from graphmend_lsp.mending.syntax.operator_names import qualified
from graphmend_lsp.mending.syntax.source import Source, read


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("/net.py", "pkg.net", "pkg_net_PATH::_f_check"),
        ("/src/pkg/__init__.py", "pkg", "pkg_PATH::_f_check"),
        ("C:\\net.py", "__main__", "__main___PATH::_f_check"),
        ("/train-gpt.py", "train-gpt", "_train_gpt_PATH::_f_check"),
        ("/01_basics.py", "__main__", "_01_basics_PATH::_f_check"),
        ("/class.py", "class", "_class_PATH::_f_check"),
        ("/né t.py", "né t", "_n__t_PATH::_f_check"),
    ],
)
def test_names_that_torch_takes(path: str, name: str, text: str) -> None:
    source = read(path, "def f(x):\n    return x\n")
    assert isinstance(source, Source)
    label, imported = qualified(source, "_f_check")
    made = eval(label, {"__name__": name, "__file__": path, "zlib": zlib})
    assert imported is not None and "import zlib" in imported.text
    assert made == text.replace("PATH", str(zlib.crc32(path.encode())))
    operator = torch.library.custom_op(made, mutates_args=())(_same)
    assert operator(torch.ones(2)).tolist() == [2.0, 2.0]


def test_a_notebook_has_no_file_to_name_them_by() -> None:
    source = read("/01 my-nb.ipynb", "def f(x):\n    return x\n")
    assert isinstance(source, Source)
    label, imported = qualified(source, "_f_check")
    assert (eval(label, {}), imported) == ("_01_my_nb::_f_check", None)
    for _ in range(2):  # the cell runs again
        operator = torch.library.custom_op(eval(label), mutates_args=())(_same)
        assert operator(torch.ones(2)).tolist() == [2.0, 2.0]


def _same(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_a_file_under_the_name_of_another_has_operators_of_its_own() -> None:
    source = read("/model.py", "def f(x):\n    return x\n")
    assert isinstance(source, Source)
    label, _ = qualified(source, "_f_check")
    names = {
        eval(label, {"__name__": "model", "__file__": path, "zlib": zlib}) for path in ("/a/model.py", "/b/model.py")
    }
    assert len(names) == 2
