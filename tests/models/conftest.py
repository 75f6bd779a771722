"""A scratch copy of transformers that may be written to, with the example entries beside it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

ENTRIES = Path(__file__).parents[2] / "examples" / "transformers_models.py"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the installed package that may be written to, with the entries beside it."""
    spec = find_spec("transformers")
    assert spec is not None
    assert spec.origin is not None
    folder = tmp_path_factory.mktemp("scratch")
    shutil.copytree(Path(spec.origin).parent, folder / "transformers")
    shutil.copy(ENTRIES, folder)
    return folder
