"""The setting that maps folders, as the editor gives it."""

from typing import Any

import pytest

from graphmend_lsp.lsp.settings import Settings, read_settings


@pytest.mark.parametrize(
    "value", [{"worker": {"pathMapping": ["/a=/b"]}}, {"graphmend": {"worker.pathMapping": ["/a=/b"]}}]
)
def test_a_mapping_is_read(value: dict[str, Any]) -> None:
    assert read_settings(value, Settings()) == (Settings(worker_path_mapping=("/a=/b",)), ())


@pytest.mark.parametrize("value", ["/a=/b", ["/a"], [1], 7, {"/a": "/b"}])
def test_what_is_no_mapping_is_told_and_ignored(value: Any) -> None:
    settings, (complaint,) = read_settings({"worker": {"pathMapping": value}}, Settings())
    assert settings == Settings()
    assert "HERE=/FOLDER/THERE" in complaint
