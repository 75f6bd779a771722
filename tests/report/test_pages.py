"""Every example on the pages about kinds of graph breaks is true on the installed torch."""

from __future__ import annotations

import asyncio
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from graphmend_lsp.engine.client import WorkerClient
from graphmend_lsp.report.manual import break_page, break_pages

_BLOCK = re.compile(r"```python ?([a-z ]*)\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\((GB\d{4})\.md\)")
_VALUES = [0.5, 3.0, 1.0, 0.25, 2.0, 1.5, 0.75, 4.0]
_X = torch.tensor(_VALUES)
_ENTRY = f"import torch\n\n{{}}\n\ndef graphmend_entry():\n    return step, (torch.tensor({_VALUES}),)\n"


def _examples() -> Iterator[Any]:
    for name in break_pages():
        for number, (kind, code) in enumerate(_BLOCK.findall(break_page(name))):
            if kind:
                yield pytest.param(name, kind, code, id=f"{name}-{number}-{kind.replace(' ', '-')}")


def _load(code: str) -> dict[str, Any]:
    space: dict[str, Any] = {"torch": torch, "__name__": "page"}
    exec(compile(code, "page.py", "exec"), space)
    return space


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What Dynamo makes of every example, by its code; all run by one worker."""
    folder = tmp_path_factory.mktemp("pages")
    codes = [example.values[2] for example in _examples()]

    async def run_all() -> dict[str, dict[str, Any]]:
        client = WorkerClient(None, (), str(folder), {})
        try:
            return {
                code: await client.request("analyse", _params(folder / f"page{n}.py", code), 60)
                for n, code in enumerate(codes)
            }
        finally:
            await client.kill()

    return asyncio.run(run_all())


def _params(file: Path, code: str) -> dict[str, Any]:
    file.write_text(_ENTRY.format(code))
    entry = {"file": str(file), "function": "graphmend_entry", "kind": "function"}
    limits = {"seconds": 60.0, "memory_mb": None}
    return {"entry": entry, "texts": {}, "roots": [], "device": "cpu", "mode": "eval", "limits": limits}


@pytest.mark.slow
@pytest.mark.xdist_group("pages")
@pytest.mark.parametrize(("name", "kind", "code"), list(_examples()))
def test_example(name: str, kind: str, code: str, ran: dict[str, dict[str, Any]]) -> None:
    result = ran[code]
    ids = {event[part]["gb_id"] for event in result["events"] for part in ("cause", "root")}
    if kind == "breaks":
        assert name in ids
    else:
        assert (result["failure"], result["events"]) == (None, [])


def _pairs() -> Iterator[Any]:
    for name in break_pages():
        blocks = [(kind, code) for kind, code in _BLOCK.findall(break_page(name)) if kind]
        for number, ((_, breaks), (kind, mended)) in enumerate(itertools.pairwise(blocks)):
            if kind == "mended":
                yield pytest.param(breaks, mended, id=f"{name}-{number}")


@pytest.mark.parametrize(("breaks", "mended"), list(_pairs()))
@pytest.mark.parametrize("sign", [1, -1])
def test_the_mended_example_gives_the_same(breaks: str, mended: str, sign: int) -> None:
    def result(code: str) -> Any:
        torch.manual_seed(0)
        return _load(code)["step"](sign * _X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(result(breaks).detach(), result(mended).detach(), equal_nan=True)


def test_every_page_has_a_title_and_links_that_lead_somewhere() -> None:
    pages = break_pages()
    for name in pages:
        text = break_page(name)
        assert text.startswith(f"# {name}: ")
        assert set(_LINK.findall(text)) <= set(pages)
        assert f"/gb/{name.lower()}.html" in text


def test_the_commonest_kinds_have_a_page() -> None:
    assert {"GB0170", "GB0059", "GB0124", "GB0007", "GB0036", "GB0156", "GB0033", "GB0291", "GB7000"} <= set(
        break_pages()
    )


def test_pages_lie_in_the_package() -> None:
    import graphmend_lsp

    assert (Path(graphmend_lsp.__file__).parent / "pages" / "GB0170.md").is_file()
