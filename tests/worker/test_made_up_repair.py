"""From what torch and programs say of wrong inputs to inputs that may do better: recorded messages, one a case."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.worker.made_up.repair import Case, repairs
from graphmend_lsp.worker.made_up.trial import Seen, Trouble
from graphmend_lsp.worker.made_up.values import Drawn, Made


def normal(*shape: int) -> Drawn:
    return Drawn("normal", shape)


def ids(*shape: int, high: int = 50) -> Drawn:
    return Drawn("ids", shape, high)


def guess(name: str) -> Any:
    return 7 if name == "<image>" else ids(2, 4) if name.endswith("_ids") else normal(2, 8)


# kind, message, line of the failing frame, inputs, allowed (needed or not), one of the first three proposals
CASES: dict[str, tuple[str, str, str, dict[str, Any], dict[str, bool], dict[str, Any]]] = {
    "matrix": (
        "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (8x8 and 12x20)", "", {"x": normal(8, 8)}, {"x": True},
        {"x": normal(8, 12)},
    ),
    "channels": (
        "RuntimeError",
        "Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 1, 16, 16] to have 3 channels, but got 1 channels instead",
        "", {"x": normal(2, 1, 16, 16)}, {"x": True}, {"x": normal(2, 3, 16, 16)},
    ),
    "channels last": (
        "RuntimeError",
        "Given groups=1, weight of size [8, 3, 3], expected input[2, 16, 3] to have 3 channels, but got 16 channels instead",
        "", {"x": normal(2, 16, 3)}, {"x": True}, {"x": normal(2, 3, 16)},
    ),
    "rank of a convolution": (
        "RuntimeError", "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [8, 8]", "",
        {"x": normal(8, 8)}, {"x": True}, {"x": normal(8, 8, 16, 16)},
    ),
    "unpacked": (
        "ValueError", "not enough values to unpack (expected 3, got 2)", "b, t, c = x.shape", {"x": normal(2, 8)}, {"x": True},
        {"x": normal(2, 1, 8)},
    ),
    "index": ("IndexError", "index out of range in self", "", {"i": ids(2, 4)}, {"i": True}, {"i": ids(2, 4, high=2)}),
    "wants ids": (
        "RuntimeError",
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.FloatTensor instead",
        "", {"x": normal(2, 8)}, {"x": True}, {"x": ids(2, 8, high=2)},
    ),
    "missing": (
        "TypeError", "forward() missing 1 required positional argument: 'input_ids'", "", {"x": normal(1)}, {"x": False, "input_ids": True},
        {"x": normal(1), "input_ids": ids(2, 4)},
    ),
    "asked for": (
        "ValueError", "You have to specify pixel_values", "", {}, {"pixel_values": False}, {"pixel_values": normal(2, 8)},
    ),
    "two asked for at once": (
        "ValueError", "inputs_embeds and states cannot be None.", "", {}, {"inputs_embeds": False, "states": False},
        {"inputs_embeds": normal(2, 8), "states": normal(2, 8)},
    ),
    "windows that do not divide a picture": (
        "RuntimeError", "shape '[2, 4, 3, 4, 3, 48]' is invalid for input of size 18816", "", {"p": normal(2, 3, 224, 224)}, {"p": True},
        {"p": normal(2, 3, 256, 256)},
    ),
    "padded rows without channels": (
        "RuntimeError",
        "Given groups=1, weight of size [8, 1, 7], expected input[1, 2, 56] to have 1 channels, but got 2 channels instead", "",
        {"x": normal(2, 50)}, {"x": True}, {"x": normal(2, 1, 50)},
    ),
    "one of two": (
        "ValueError", "You cannot specify both input_ids and inputs_embeds at the same time", "",
        {"input_ids": ids(2, 4), "inputs_embeds": normal(2, 4, 8)}, {"input_ids": False, "inputs_embeds": False},
        {"input_ids": ids(2, 4)},
    ),
    "unexpected": (
        "TypeError", "forward() got an unexpected keyword argument 'labels'", "", {"x": normal(1), "labels": ids(1)},
        {"x": True, "labels": False}, {"x": normal(1)},
    ),
    "picture": (
        "ValueError", "Input image size (224*224) doesn't match model (30*30).", "", {"p": normal(2, 3, 224, 224)}, {"p": True},
        {"p": normal(2, 3, 30, 30)},
    ),
    "tokens of a picture": (
        "ValueError", "Image features and image tokens do not match: tokens: 0, features 8", "",
        {"input_ids": ids(2, 4), "attention_mask": Drawn("ones", (2, 4))}, {"input_ids": False, "attention_mask": False},
        {"input_ids": Drawn("ids", (2, 12), 50, placed=((7, 4),)), "attention_mask": Drawn("ones", (2, 12))},
    ),
    "rows without channels": (
        "RuntimeError",
        "Given groups=1, weight of size [8, 1, 3], expected input[1, 2, 50] to have 1 channels, but got 2 channels instead", "",
        {"x": normal(2, 50)}, {"x": True}, {"x": normal(2, 1, 50)},
    ),
    "which tokens are of a picture": (
        "ValueError", "Image features and image tokens do not match, tokens: 0, features: 8", "",
        {"input_ids": ids(2, 4)}, {"input_ids": False, "mm_token_type_ids": False},
        {
            "input_ids": Drawn("ids", (2, 12), 50, placed=((7, 4),)),
            "mm_token_type_ids": Drawn("ids", (2, 12), 1, placed=((1, 4),)),
        },
    ),
    "length": (
        "ValueError", "the model expects mel features of length 300, but found 100", "", {"f": normal(2, 80, 100)}, {"f": True},
        {"f": normal(2, 80, 300)},
    ),
    "dictionary": (
        "IndexError", "only integers can be indices", 'return self.l(batch["features"])', {"batch": normal(8, 8)}, {"batch": True},
        {"batch": Made("dict", (("features", normal(2, 8)),))},
    ),
    "None where a tensor was meant": (
        "AttributeError", "'NoneType' object has no attribute 'shape'", "h = memory.shape[0]", {"x": normal(1)},
        {"x": True, "memory": False}, {"x": normal(1), "memory": normal(2, 8)},
    ),
    "sizes": (
        "RuntimeError", "The size of tensor a (16) must match the size of tensor b (8) at non-singleton dimension 1", "",
        {"x": normal(2, 16), "y": normal(2, 8)}, {"x": True, "y": True}, {"x": normal(2, 8), "y": normal(2, 8)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_repairs(name: str) -> None:
    kind, message, line, inputs, allowed, expected = CASES[name]
    absent = frozenset(one for one in allowed if one not in inputs)
    frame = Seen(
        "forward", line, {key: value.shape for key, value in inputs.items() if isinstance(value, Drawn)}, absent
    )
    proposals = list(repairs(Case(Trouble(kind, message, (frame,)), inputs, allowed, guess)))
    assert expected in proposals[:3]


def test_no_proposal_is_enormous() -> None:
    trouble = Trouble("RuntimeError", "shape '[2, 65000, 4]' is invalid for input of size 16", ())
    proposals = list(repairs(Case(trouble, {"x": normal(2, 1000, 16)}, {"x": True}, guess)))
    assert proposals
    assert all(65000 not in proposal["x"].shape for proposal in proposals)


def test_what_is_not_understood_is_left_alone() -> None:
    trouble = Trouble("KeyError", "'weights'", ())
    assert list(repairs(Case(trouble, {"x": normal(2, 3)}, {"x": True}, guess))) == []
