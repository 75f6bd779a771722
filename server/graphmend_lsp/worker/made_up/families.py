"""What cannot be seen from a transformers model's signature and configuration, by its ``model_type``. A table, no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .values import Drawn


@dataclass(frozen=True)
class Family:
    """`config`: values by dotted name, set after shrinking. `made_of`: parts that the configuration must be given, each with
    the name of its class. `inputs`: values by argument. `give`: arguments to give although they may be left out;
    `leave`: arguments not to give.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    made_of: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    give: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


_FORECAST = Family(config={"prediction_length": 8, "context_length": 16})
_CLAP = Family(inputs={"input_features": Drawn("normal", (2, 1, 1001, 64))}, give=("input_features",))
_CODES = Family(inputs={"input_ids": Drawn("ids", (8, 16), 200)})  # a row for each of four codebooks
_SECTIONS = {"type": "default", "rope_type": "default", "mrope_section": [16, 24, 24]}
_POSITIONS = Family(config={"text_config.rope_scaling": _SECTIONS, "vision_start_token_id": 4})
_FEW_TOKENS = Family(config={"mm_tokens_per_image": 16})
_PATCHES = Family(
    inputs={
        "pixel_values": Drawn("normal", (2, 256, 768)),
        "pixel_attention_mask": Drawn("ones", (2, 256)),
        "spatial_shapes": Drawn("ids", (2, 2), 1, placed=((16, 2),)),
    },
    give=("pixel_attention_mask", "spatial_shapes"),
)
_HALF = Drawn("normal", (1, 3, 448, 448))  # prompt and picture are put on top of each other
_VISUAL = {"<image>": 8, "<|extra_200|>": 9, **{f"<|visual token {n:06d}|>": 10 + n for n in range(16)}}

FAMILIES: Mapping[str, Family] = {
    "autoformer": _FORECAST,
    "informer": _FORECAST,
    "time_series_transformer": _FORECAST,
    "chameleon": Family(config={"vocabulary_map": {"<image>": 8, "IMGIMGA": 9}}),
    "aya_vision": Family(config={"vision_config.num_attention_heads": 16}),  # its own default does not divide its width
    "clap": _CLAP,
    "clap_audio_model": _CLAP,
    "granitemoehybrid": Family(config={"layer_types": ["mamba", "attention"]}),
    "idefics": Family(
        inputs={
            "pixel_values": Drawn("normal", (2, 1, 3, 224, 224)),
            "image_attention_mask": Drawn("ones", (2, 16, 1)),
        },
        give=("image_attention_mask",),
    ),
    "jetmoe": Family(config={"head_dim": 128}),
    "kosmos-2": Family(
        inputs={
            "input_ids": Drawn("ids", (2, 80), 200),
            "attention_mask": Drawn("ones", (2, 80)),
            "image_embeds_position_mask": Drawn("ids", (2, 80), 1, placed=((1, 64),)),
        },
        give=("image_embeds_position_mask",),
    ),
    "llava_onevision": Family(config={"vision_config.num_attention_heads": 16}),
    "emu3": Family(config={"vocabulary_map": _VISUAL}),
    "mllama": Family(config={"text_config.rope_scaling": {"rope_type": "default"}}),
    "oneformer": Family(inputs={"task_inputs": Drawn("ids", (2, 77), 200)}),
    "perceiver": Family(config={"num_self_attends_per_block": 2}),
    "qwen2_vl": _POSITIONS,
    "qwen2_5_vl": _POSITIONS,
    "qwen2_5_omni_talker": Family(config={"rope_scaling": _SECTIONS}),
    "qwen2_5_omni_text": Family(config={"rope_scaling": _SECTIONS}),
    "musicgen_decoder": _CODES,
    "musicgen_melody_decoder": _CODES,
    "phi4_multimodal": Family(
        made_of={"vision_config": "Phi4MultimodalVisionConfig", "audio_config": "Phi4MultimodalAudioConfig"}
    ),
    "pix2struct": Family(inputs={"flattened_patches": Drawn("spread", (2, 32, 770))}, give=("flattened_patches",)),
    "codegen": Family(config={"n_head": 4}),  # its projections are cut into four
    "encoder-decoder": Family(made_of={"encoder": "BertConfig", "decoder": "BertConfig"}),
    "seggpt": Family(inputs=dict.fromkeys(("pixel_values", "prompt_pixel_values", "prompt_masks"), _HALF)),
    "upernet": Family(config={"use_auxiliary_head": False}),
    "xmod": Family(config={"default_language": "en_XX"}),
    "gemma3": _FEW_TOKENS,
    "shieldgemma2": _FEW_TOKENS,
    "siglip2": _PATCHES,
    "siglip2_vision_model": _PATCHES,
    "speech-encoder-decoder": Family(
        made_of={"encoder": "Wav2Vec2Config", "decoder": "BertConfig"}, leave=("inputs", "input_features")
    ),
    "vision-encoder-decoder": Family(made_of={"encoder": "ViTConfig", "decoder": "BertConfig"}),
    "vision-text-dual-encoder": Family(made_of={"vision_config": "ViTConfig", "text_config": "BertConfig"}),
    "rag": Family(made_of={"question_encoder": "DPRConfig", "generator": "BartConfig"}),
    "transfo-xl": Family(config={"vocab_size": 256, "cutoffs": [64, 128]}),
}
