"""Configurations made small, and the inputs of models by their signature: on configurations in the manner of transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graphmend_lsp.worker.made_up.families import FAMILIES
from graphmend_lsp.worker.made_up.lacking import lacking
from graphmend_lsp.worker.made_up.pretrained import Inputs, Sizes, with_padding
from graphmend_lsp.worker.made_up.repair import is_of_sizes
from graphmend_lsp.worker.made_up.shrink import ALL_SIZES, LEVELS, PARTS, Level, is_uneven, shrunk
from graphmend_lsp.worker.made_up.trial import Seen, Trouble, attempt
from graphmend_lsp.worker.made_up.values import Drawn, Made, New, describe, draw


class Config:
    """What `shrink` knows of a configuration: attributes, `to_dict` and a `model_type`."""

    model_type = "some"

    def __init__(self, **given: Any) -> None:
        for name, value in {**self.defaults(), **given}.items():
            setattr(self, name, value)

    def defaults(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


class Text(Config):
    def defaults(self) -> dict[str, Any]:
        return {
            "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "max_position_embeddings": 2048, "pad_token_id": 31999, "bos_token_id": 1, "dropout": 0.1,
            "num_local_experts": 64, "num_experts_per_tok": 8, "layer_types": ["sliding", "full"] * 16,
        }  # fmt: skip


class Vision(Config):
    def defaults(self) -> dict[str, Any]:
        return {
            "hidden_size": 1024,
            "num_attention_heads": 16,
            "depths": [2, 2, 6, 2],
            "image_size": 1024,
            "patch_size": 16,
            "num_channels": 3,
        }


class Both(Config):
    def defaults(self) -> dict[str, Any]:
        return {"text_config": Text(), "vision_config": Vision(), "image_token_id": 31998, "projection_dim": 512}


@pytest.mark.parametrize(("level", "narrow"), [(0, 2), (1, 2), (2, 2), (3, 1)])
def test_a_text_model_is_small_and_consistent(level: int, narrow: int) -> None:
    small = shrunk(Text(), LEVELS[level])
    assert small.hidden_size % small.num_attention_heads == 0
    assert small.hidden_size // small.num_attention_heads == 4096 // 32 // narrow
    assert small.num_attention_heads % small.num_key_value_heads == 0
    assert small.hidden_size <= 512 and small.vocab_size <= 256 and small.num_hidden_layers == 2
    assert small.layer_types == ["sliding", "full"]
    assert small.pad_token_id < small.vocab_size and small.bos_token_id == 1
    assert small.num_local_experts == 4 and small.num_experts_per_tok == 2
    assert (small.max_position_embeddings, small.dropout) == (2048, 0.1)


def test_a_width_for_each_layer_is_a_list_for_fewer() -> None:
    small = shrunk(Text(intermediate_size=[16384] * 32), LEVELS[0])
    assert small.intermediate_size == [16384] * 2 and small.hidden_size <= 512


def test_what_stands_inside_of_an_mlp_is_narrow_where_nothing_is_computed_from_it() -> None:
    widths = {"intermediate_size": 11008, "ffn_dim": 48, "hidden_act": "silu"}
    small, wide = shrunk(Text(**widths), LEVELS[0]), shrunk(Text(**widths), LEVELS[1])
    assert (small.intermediate_size, small.ffn_dim, wide.intermediate_size > 64) == (64, 48, True)
    assert shrunk(Text(**widths, ssm_state_size=16), LEVELS[0]).intermediate_size == wide.intermediate_size


def test_parts_are_shrunk_alike_and_share_their_tokens() -> None:
    both = Both()
    small = shrunk(both, LEVELS[0])
    assert small.vision_config.depths == [1, 1, 1, 1]
    assert (small.vision_config.image_size, shrunk(both, LEVELS[1]).vision_config.image_size) == (112, 224)
    assert 4096 // small.text_config.hidden_size == 1024 // small.vision_config.hidden_size
    assert small.image_token_id < small.text_config.vocab_size
    assert small.image_token_id != small.text_config.pad_token_id
    assert (both.text_config.hidden_size, both.image_token_id) == (4096, 31998)


def test_what_few_heads_of_one_part_allow_is_enough_for_all_parts() -> None:
    """12 and 16 heads: a quarter of both, 3 and 4."""
    both = Both(text_config=Text(num_attention_heads=12, num_key_value_heads=12, hidden_size=768))
    small = shrunk(both, LEVELS[3])
    assert (small.text_config.num_attention_heads, small.vision_config.num_attention_heads) == (3, 4)


def test_a_wide_part_beside_one_with_few_heads_is_made_narrow_by_a_factor_of_its_own() -> None:
    wide = {"hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 64}
    both = Both(text_config=Text(**wide), vision_config=Vision(hidden_size=1152, num_attention_heads=14))
    alike = Both(
        text_config=Text(num_attention_heads=12, num_key_value_heads=12, hidden_size=768, intermediate_size=3072)
    )
    assert is_uneven(both) and not is_uneven(alike) and not is_uneven(Text(**wide))
    small = shrunk(both, LEVELS[PARTS])
    assert (small.text_config.hidden_size, small.text_config.num_attention_heads) == (256, 4)
    assert (small.vision_config.hidden_size, small.vision_config.num_attention_heads) == (288, 7)
    assert shrunk(both, LEVELS[0]).text_config.hidden_size == 2048


def test_sizes_that_are_computed_from_widths_shrink_alike() -> None:
    """Four coordinates and two shapes side by side make a word's place."""
    small = shrunk(Text(coordinate_size=512, shape_size=1024, attention_stride=512), LEVELS[ALL_SIZES])
    assert 4 * small.coordinate_size + 2 * small.shape_size == small.hidden_size
    assert (small.attention_stride, small.max_position_embeddings) == (512, 2048)


def test_without_heads_widths_still_shrink() -> None:
    codec = {
        "num_attention_heads": None,
        "hidden_size": 128,
        "intermediate_size": 128,
        "codebook_dim": 128,
        "num_filters": 32,
    }
    small = shrunk(Text(**codec), LEVELS[ALL_SIZES])
    assert (small.hidden_size, small.codebook_dim, small.num_filters) == (32, 32, 8)


def test_pictures_that_are_cut_into_windows_stay_large() -> None:
    """A window that covers all of a picture is not shifted."""
    both = Both(vision_config=Vision(window_size=7))
    assert shrunk(both, LEVELS[0]).vision_config.image_size == 224
    assert Inputs(Model, Config(window_size=7), "eval", small=True).first()["pixel_values"].shape[2:] == (224, 224)  # type: ignore[attr-defined]
    assert Inputs(Model, Config(), "eval", small=True).first()["pixel_values"].shape[2:] == (128, 128)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({"window_size": 7, "patch_size": 4}, 112),  # 28 patches, 14 after the first halving: two windows
        ({"window_size": 14, "patch_size": 4}, 224),
        ({"window_size": (7, 7), "patch_size": 4}, 224),
        ({"window_size": 7, "patch_size": 4, "window_stride": 2}, 224),
        ({"sliding_window": 4096, "max_window_layers": 4}, 112),
    ],
)
def test_pictures_of_several_windows_are_small(given: dict[str, Any], size: int) -> None:
    assert shrunk(Both(vision_config=Vision(**given)), LEVELS[0]).vision_config.image_size == size


def test_what_is_as_large_as_a_width_is_divided_alike() -> None:
    more = {"decoder_in_channels": [4096, 4096], "in_channels": [4096, 512], "upsample_groups": 4096, "norm_groups": 32}
    small = shrunk(Text(**more), LEVELS[0])
    assert small.decoder_in_channels == [small.hidden_size] * 2 and small.upsample_groups == small.hidden_size < 4096
    assert (small.in_channels, small.norm_groups) == ([4096, 512], 32)


def test_a_codec_of_many_widths_has_few_filters() -> None:
    assert shrunk(Config(hidden_size=128, num_filters=64, upsampling_ratios=[8, 5, 4, 2]), LEVELS[0]).num_filters == 8


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_leaves_what_was_told(level: Level) -> None:
    small = shrunk(Text(out_features=["stage2"], extra=3), level, {"dropout": 0.5})
    assert (small.out_features, small.extra, small.dropout) == (["stage2"], 3, 0.5)


@pytest.mark.parametrize(
    ("given", "layers"),
    [
        ({"first_k_dense_replace": 3}, 4),
        ({"first_k_dense_replace": 0}, 2),
        ({"first_k_dense_replace": 30}, 8),
        ({"attn_layer_period": 8, "attn_layer_offset": 4}, 8),
        ({"attn_layer_period": 1, "attn_layer_offset": 3}, 4),
    ],
)
def test_there_is_a_layer_of_each_kind(given: dict[str, int], layers: int) -> None:
    """A model whose experts begin in its fourth layer is not one without experts."""
    assert shrunk(Text(**given), LEVELS[1]).num_hidden_layers == layers


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"first_k_dense_replace": 3}, {"first_k_dense_replace": 1}),
        ({"attn_layer_period": 8, "attn_layer_offset": 4}, {"attn_layer_period": 2, "attn_layer_offset": 1}),
        ({"sliding_window_pattern": 6}, {"sliding_window_pattern": 2}),
        ({"layer_types": ["sliding"] * 5 + ["full"] * 27}, {"layer_types": ["sliding", "full"]}),
        ({"layer_types": ["sliding"] * 5 + ["full"] * 27, "mlps": ["dense"] * 7 + ["sparse"] * 25}, {
            "num_hidden_layers": 3, "layer_types": ["sliding", "full", "full"], "mlps": ["dense", "dense", "sparse"],
        }),
        ({"layer_types": ["full"] * 32}, {"layer_types": ["full", "full"]}),
    ],
)  # fmt: skip
def test_other_kinds_of_layers_come_sooner(given: dict[str, Any], told: dict[str, Any]) -> None:
    small = shrunk(Text(**given), LEVELS[0])
    assert {"num_hidden_layers": 2, **told} == {"num_hidden_layers": small.num_hidden_layers} | {
        name: getattr(small, name) for name in told
    }


def test_an_odd_count_of_heads() -> None:
    small = shrunk(Text(num_attention_heads=71, hidden_size=4544, num_key_value_heads=71), LEVELS[0])
    assert small.hidden_size // small.num_attention_heads == 4544 // 71


class Model:
    """A model's class as far as its inputs are concerned."""

    main_input_name = "pixel_values"

    def forward(
        self, input_ids: Any = None, pixel_values: Any = None, attention_mask: Any = None, labels: Any = None
    ) -> None: ...


def test_inputs_by_signature() -> None:
    config = shrunk(Both(), LEVELS[0])
    made = Inputs(Model, config, "eval").first()
    assert made["pixel_values"] == Drawn("normal", (2, 3, 112, 112))
    assert list(made) == ["pixel_values", "input_ids", "attention_mask"]
    ids = made["input_ids"]
    assert isinstance(ids, Drawn) and ids.high == config.text_config.vocab_size and config.image_token_id in ids.avoided
    assert Inputs(Model, config, "eval").guess("<image>") == config.image_token_id


class Patches:
    """A model that takes pictures of many sizes, as rows of patches."""

    config_class = Both
    main_input_name = "input_ids"

    def forward(
        self,
        input_ids: Any = None,
        pixel_values: Any = None,
        pixel_values_videos: Any = None,
        image_grid_thw: Any = None,
    ) -> None: ...


def test_pictures_of_many_sizes_are_rows_of_patches() -> None:
    vision = Vision(spatial_merge_size=2, temporal_patch_size=2)
    made = Inputs(Patches, Both(vision_config=vision), "eval").first()
    assert list(made) == ["input_ids", "pixel_values", "image_grid_thw"]
    assert made["image_grid_thw"] == Drawn("ids", (2, 3), 1, placed=((1, 1), (4, 2)))
    assert made["pixel_values"] == Drawn("normal", (2 * 4 * 4, 3 * 2 * 16 * 16))


class Layered(Text):
    """A configuration that has no value for what differs from layer to layer."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"{name} may vary across layers") if name == "image_size" else AttributeError(name)


def test_a_configuration_may_refuse_an_attribute() -> None:
    assert shrunk(Layered(), LEVELS[0]).hidden_size < 4096
    assert Sizes(Layered()).pair("image_size") is None


def test_newer_configurations_have_their_own_name_for_the_scaling_of_positions() -> None:
    told = {"rope_scaling": {"rope_type": "default"}}
    assert shrunk(Text(), LEVELS[0], told).rope_scaling == told["rope_scaling"]
    newer = shrunk(Text(rope_parameters={"rope_theta": 1e4}), LEVELS[0], told)
    assert newer.rope_parameters == {"rope_theta": 1e4} and not hasattr(newer, "rope_scaling")


def test_numbers_are_looked_for_near_what_they_are_for() -> None:
    sizes = Sizes(Both())
    assert sizes.number("hidden_size", near=("vision",)) == 1024
    assert sizes.number("hidden_size", near=("text",)) == 4096
    assert sizes.number("absent", default=3) == 3
    assert sizes.pair("image_size") == (1024, 1024)


def test_the_table_is_made_of_data() -> None:
    for name, family in FAMILIES.items():
        assert name and (family.config or family.made_of or family.inputs or family.give or family.leave)
        assert all(isinstance(value, (Drawn, Made, int)) for value in family.inputs.values())


DESCRIBED = {
    "torch.randn(2, 3)": Drawn("normal", (2, 3)),
    "torch.randint(0, 9, (2,))": Drawn("ids", (2,), 9),
    "torch.ones(2, dtype=torch.bool)": Drawn("mask", (2,)),
    "torch.zeros(2, dtype=torch.long)": Drawn("zeros", (2,)),
    "[torch.rand(1), 3]": Made("list", (Drawn("spread", (1,)), 3)),
    "{'a': (1,)}": Made("dict", (("a", Made("tuple", (1,))),)),
    "Text(vocab_size=5)": New(Text, (("vocab_size", 5),)),
}


@pytest.mark.parametrize("written", DESCRIBED)
def test_values_as_one_would_write_them(written: str) -> None:
    assert describe(DESCRIBED[written]) == written


NONE = "unsupported operand type(s) for ** or pow(): 'NoneType' and 'float'"

# attributes of the part for text, the error, the failing line, what the configuration is seen to lack
LACKING: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "a width of heads": ({"head_dim": None}, NONE, "self.scaling = self.head_dim**-0.5", {"text_config.head_dim": 128}),
    "a kind for each layer": (
        {"mlp_layer_types": None}, "'NoneType' object is not subscriptable", 'if config.mlp_layer_types[index] == "sparse"',
        {"text_config.mlp_layer_types": ["sparse"] * 32},
    ),
    "a number with a name": (
        {"num_experts_per_tok": None}, "topk(): argument 'k' must be int, not NoneType", "torch.topk(scores, k=self.top_k)",
        {"text_config.num_experts_per_tok": 2},
    ),
    "a number without": (
        {"clip_qkv": None}, "torch.clamp: At least one of 'min' or 'max' must not be None", "x.clamp(max=self.clip_qkv)",
        {"text_config.clip_qkv": 1.0},
    ),
    "an attribute": ({}, "'Text' object has no attribute 'rope_theta'", "config.rope_theta", {"text_config.rope_theta": 10_000.0}),
    "a theta": (
        {"rope_parameters": {"rope_type": "default", "rope_theta": None}}, NONE, "1.0 / base ** powers",
        {"text_config.rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}},
    ),
    "sections": (
        {"rope_parameters": {"rope_theta": 1.0}},
        "split_with_sizes expects split_sizes to sum exactly to 16 (input tensor's size at dimension -1), but got split_sizes=[8, 12, 12]",
        "", {"text_config.rope_parameters": {"rope_theta": 1.0, "mrope_section": [4, 6, 6]}},
    ),
    "a token that ids are compared with": (
        {"image_token_index": None}, "'bool' object has no attribute 'unsqueeze'", "special_mask.unsqueeze(-1)",
        {"text_config.image_token_index": 128},
    ),
    "what a message names": (
        {"sliding_window": None}, "Could not find a `sliding_window` argument in the config, or it is not set", "raise ValueError()",
        {"text_config.sliding_window": 4},
    ),
    "nothing of the configuration": ({}, NONE, "x ** y", {}),
    "no None": ({"head_dim": None}, "size mismatch", "self.head_dim", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", LACKING)
def test_what_a_configuration_lacks_is_seen_in_the_error(name: str) -> None:
    given, message, line, expected = LACKING[name]
    config = Config(text_config=Text(**given), vision_config=Vision())
    assert lacking(Trouble("Error", message, (Seen("f", line, {}, frozenset()),)), config) == expected


def test_sections_and_pictures_fit_the_small_text() -> None:
    text = Text(rope_parameters={"mrope_section": [16, 24, 24], "rope_theta": 1.0}, head_dim=None)
    small = shrunk(Config(text_config=text, vision_config=Vision(out_hidden_size=4096)), LEVELS[0])
    heads = small.text_config.hidden_size // small.text_config.num_attention_heads
    assert sum(small.text_config.rope_parameters["mrope_section"]) == heads // 2
    assert small.vision_config.out_hidden_size == small.text_config.hidden_size


def test_a_mask_of_ones_is_also_tried_with_padding() -> None:
    inputs = {
        "input_ids": Drawn("ids", (2, 4), high=9),
        "attention_mask": Drawn("ones", (2, 4)),
        "ones": Drawn("ones", (2, 4)),
    }
    values = {name: draw(one) for name, one in inputs.items()}
    padded = with_padding(inputs, values)
    assert padded["attention_mask"].tolist() == [[1, 1, 1, 0]] * 2 and values["attention_mask"].all()
    assert padded["input_ids"] is values["input_ids"] and padded["ones"] is values["ones"]
    assert with_padding({"attention_mask": Drawn("ones", (2, 1))}, {"attention_mask": torch.ones(2, 1)}) == {}


@pytest.mark.parametrize(
    ("shape", "fits"), [((4, 1, 3, 5), True), ((3, 5), True), ((2, 1, 3, 5), False), ((4, 1, 3, 4), False)]
)
def test_attention_takes_no_mask_that_does_not_fit(shape: tuple[int, ...], fits: bool) -> None:
    """On the CPU torch takes a mask of half of the batch, and reads past its end."""
    query, key = torch.ones(4, 2, 3, 8), torch.ones(4, 2, 5, 8)
    attend = torch.nn.functional.scaled_dot_product_attention
    told = attempt(attend, (query, key, key, torch.zeros(shape)), {}, gradients=False)
    assert (told is None) == fits
    assert told is None or is_of_sizes(told)
