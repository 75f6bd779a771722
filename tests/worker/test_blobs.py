"""Contents of tensors that trials carry from process to process."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

from graphmend_lsp.worker import blobs
from graphmend_lsp.worker.blobs import Blobs
from graphmend_lsp.worker.snapshot import Store, read_back


def contents(number: int) -> tuple[str, bytes]:
    return f"digest {number}", bytes([number % 256]) * (1 << 18)


@pytest.mark.parametrize("in_folder", [True, False])
def test_what_is_kept_is_read_in_another_process(tmp_path: Path, in_folder: bool) -> None:
    kept = Blobs(str(tmp_path) if in_folder else None)
    for number in [*range(70), 3, 5]:
        kept.keep(*contents(number))
    data = pickle.dumps(kept)
    again = pickle.loads(data)
    assert len(kept) == len(again) == 70
    assert all(one[digest] == raw for digest, raw in map(contents, range(70)) for one in (kept, again))
    assert "digest 70" not in again
    assert again.get("digest 70") is None
    assert (len(data) < 1 << 18) == in_folder  # in the file, not in the message
    assert len(list(tmp_path.iterdir())) == in_folder


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Blobs(str(tmp_path))
    for number in range(40):
        kept.keep(*contents(number))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(blobs, "open", full, raising=False)
        for number in range(40, 90):
            kept.keep(*contents(number))
        data = pickle.dumps(kept)
    again = pickle.loads(data)
    assert all(again[digest] == raw for digest, raw in map(contents, range(90)))


def test_a_lasting_tensor_is_read_anew_whatever_wrote_to_it() -> None:
    store = Store()
    weight = torch.nn.Parameter(torch.arange(4.0))
    numbers = torch.zeros(3)
    first, other = store.lasting(weight), store.lasting(numbers)
    assert store.lasting(weight) is first
    weight.data[2] = -0.0  # which counts no version
    numbers.numpy()[1] = 7
    changed = store.lasting(weight)
    assert changed.digest != first.digest
    assert torch.equal(torch.tensor([0.0, 1.0, -0.0, 3.0]), read_back(changed, store.blobs))
    assert store.lasting(numbers).digest != other.digest
    weight.requires_grad_(False)
    assert store.lasting(weight).text != changed.text


def test_a_lasting_tensor_that_cannot_be_read_is_its_words() -> None:
    left: list[torch.Tensor] = []
    torch.vmap(lambda x: (left.append(x), x.sin())[1])(torch.ones(3))
    for one in (*left, torch.ones(3, device="meta")):
        assert "float32" in Store().lasting(one).text


def test_what_calls_leave_alone_is_one_snapshot() -> None:
    store = Store()
    first = store.once("state", {"a": store.plain(1), "b": store.plain(True)})
    assert store.once("state", {"a": store.plain(1), "b": store.plain(True)}) is first
    assert store.plain(1) != store.plain(True)
    assert store.once("state", {"a": store.plain(1)}) is not first
