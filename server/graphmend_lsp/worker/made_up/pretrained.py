"""Models of transformers from their configuration: shrunk, with the inputs that their `forward` takes.

General first: the signature, the configuration's own numbers and the model's main input say what to give; `families`
holds what cannot be seen from those. Imports nothing: the model's class brings what it needs.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from .families import FAMILIES, Family
from .lacking import lacking
from .shrink import LEVELS, MOST_PARAMETERS, attribute, every_part, is_uneven, may_be_small, parts, shrunk
from .trial import trouble_of
from .values import Drawn

ROWS, LENGTH = 2, 16
_SOUND = 8000
MOST_LACKING = 8
_PICTURE = 224  # where no configuration says it
_SMALL_PICTURE = 128  # the least that a network of five halvings takes well
_FIRST = (
    "input_ids", "bbox", "pixel_values", "pixel_values_videos", "input_features", "input_values", "past_values",
    "decoder_input_ids",
)  # fmt: skip
_GIVEN_WITH_IDS = ("attention_mask",)


def with_padding(inputs: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values drawn for inputs, where masks that take everything leave out the last element; none without such a mask.

    Uncompiled, many programs pass over a mask of ones: whether it fits is seen with another one.
    """
    masks = [name for name, one in inputs.items() if getattr(one, "kind", "") == "ones" and name.endswith("mask")]
    changed = {name: values[name].clone() for name in masks if values[name].dim() and values[name].shape[-1] > 1}
    for mask in changed.values():
        mask[..., -1] = 0
    return {**values, **changed} if changed else {}


def family_of(config: Any) -> Family:
    """What is known of the model's family beyond the rules."""
    return FAMILIES.get(getattr(config, "model_type", ""), Family())


def small_config(model: Any, level: int, more: Mapping[str, Any] | None = None) -> Any:
    """The configuration of a model's class, shrunk to one of `LEVELS`; `more` are values by dotted name that it lacks."""
    small = shrunk(_whole(model), LEVELS[level], {**family_of(model.config_class).config, **(more or {})})
    for part in every_part(small):
        _without_download(part)
    return small


def is_of_uneven_parts(model: Any) -> bool:
    """Whether the configuration of a model's class has parts that differ much in width."""
    try:
        return is_uneven(_whole(model))
    except Exception:  # what makes it tells later
        return False


def _whole(model: Any) -> Any:
    """The configuration of a model's class as its author has it."""
    return model.config_class(
        **{name: _default(part).to_dict() for name, part in family_of(model.config_class).made_of.items()}
    )


def _default(name: str) -> Any:
    return getattr(sys.modules["transformers"], name)()


def _without_download(config: Any) -> None:
    """A backbone that would be fetched, or that needs timm, becomes a small ResNet with as many outputs."""
    backbone = attribute(config, "backbone_config")
    if not (
        attribute(config, "use_timm_backbone")
        or (attribute(config, "backbone") and hasattr(config, "backbone_config"))
        or attribute(backbone, "model_type") == "timm_backbone"
    ):
        return
    stages = ["stage2", "stage3", "stage4"] if hasattr(config, "num_feature_levels") else ["stage4"]
    values = {
        "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None, "backbone_kwargs": None,
        "backbone_config": sys.modules["transformers"].ResNetConfig(
            embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], layer_type="basic", out_features=stages
        ),
    }  # fmt: skip
    for name, value in values.items():
        if hasattr(config, name):
            setattr(config, name, value)


def built(model: Any, level: int, more: Mapping[str, Any] | None = None) -> tuple[Any, Any, dict[str, Any]]:
    """A model of that class, its configuration, and by dotted name what the configuration lacked; `more` is known of it.

    Raises:
        Exception: what the class raises.
    """
    more = dict(more or {})
    while True:
        config = small_config(model, level, more)
        try:
            refuse_large(model, config)
            return filled(partial(model, config)), config, more
        except MemoryError:
            raise
        except Exception as error:
            missing = lacking(trouble_of(error), config)
            if not missing.keys() - more.keys() or len(more) >= MOST_LACKING:
                raise
            more |= missing


def refuse_large(model: Any, config: Any) -> None:
    """Nothing, when the model would have a size that one can try things on.

    Raises:
        MemoryError: it would be too large even so.
    """
    import torch

    try:
        with torch.device("meta"):
            count = sum(parameter.numel() for parameter in model(config).parameters())
    except Exception:  # builds with data: is tried as it is
        return
    if count > MOST_PARAMETERS:
        raise MemoryError(f"the model has {count:,} parameters although its configuration was shrunk")


def filled(make: Any) -> Any:
    """What `make` makes, with every parameter that nothing initialises drawn at random."""
    import torch

    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills what torch.empty gives with NaN
    try:
        built = make()
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    if isinstance(built, torch.nn.Module):
        with torch.no_grad():
            for tensor in (*built.parameters(), *built.buffers()):
                if torch.nn.parameter.is_lazy(tensor) or isinstance(tensor, torch._subclasses.FakeTensor):
                    continue
                if tensor.is_floating_point() and bool(tensor.isnan().any()):
                    tensor.normal_(0.0, 0.02)
    return built


class Sizes:
    """Numbers of a configuration, wherever in it they stand."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self._all = [("", config)]
        for name, part in parts(config).items():
            self._all.append((name, part))
            self._all += [(f"{name}.{inner}", deeper) for inner, deeper in parts(part).items()]

    def number(self, *names: str, near: tuple[str, ...] = (), default: int = 0) -> int:
        """The first of `names` that is a number, in a part whose name has one of `near` in it first."""
        ranked = sorted(self._all, key=lambda item: (not any(word in item[0] for word in near), len(item[0])))
        for name in names:
            for _, config in ranked:
                value = attribute(config, name)
                if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                    return value
        return default

    def has(self, name: str) -> bool:
        """Whether any part has such an attribute that is not None."""
        return any(attribute(config, name) is not None for _, config in self._all)

    def pair(self, name: str, near: tuple[str, ...] = ()) -> tuple[int, int] | None:
        """A size that may be one number or two, as (height, width)."""
        ranked = sorted(self._all, key=lambda item: (not any(word in item[0] for word in near), len(item[0])))
        for _, config in ranked:
            value = attribute(config, name)
            if isinstance(value, dict) and {"height", "width"} <= value.keys():
                value = (value["height"], value["width"])
            if isinstance(value, int) and value > 0:
                return value, value
            if isinstance(value, (list, tuple)) and len(value) >= 2 and all(isinstance(one, int) for one in value[-2:]):
                return value[-2], value[-1]
        return None

    def special(self) -> tuple[int, ...]:
        """The ids of special tokens."""
        found = set()
        for _, config in self._all:
            for name, value in vars(config).items():
                if re.search(r"_token_(id|index)$", name) and isinstance(value, int) and value > 0:
                    found.add(value)
        return tuple(sorted(found))


class Inputs:
    """What the arguments of one model are made of. With `small`, pictures are, where nothing says otherwise."""

    def __init__(self, model: Any, config: Any, mode: str, *, small: bool = False) -> None:
        self.model, self.config, self.mode = model, config, mode
        self.picture = _SMALL_PICTURE if small and may_be_small(config) else _PICTURE
        self.sizes = Sizes(config)
        self.family = family_of(config)
        self.parameters = inspect.signature(model.forward).parameters
        self.allowed = {
            name: parameter.default is parameter.empty
            for name, parameter in self.parameters.items()
            if name != "self" and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }
        self.main = str(getattr(model, "main_input_name", "input_ids"))

    def first(self) -> dict[str, object]:
        """The inputs to begin with."""
        wanted = [name for name in self.allowed if self.allowed[name] or name == self.main]
        wanted += [name for name in _FIRST if name in self.allowed]
        wanted += [name for name in self.family.give if name in self.allowed]
        if "image_grid_thw" in self.allowed and "pixel_values" not in self.family.leave:
            wanted.append("image_grid_thw")
            wanted = [name for name in wanted if name != "pixel_values_videos"]
        if "input_ids" in self.allowed:
            wanted += [name for name in _GIVEN_WITH_IDS if name in self.allowed]
        if self.mode == "train" and "labels" in self.allowed:
            wanted.append("labels")
        values = {name: self.guess(name) for name in dict.fromkeys(wanted) if name not in self.family.leave}
        if "use_cache" in self.allowed and self.sizes.has("cache_implementation"):
            values["use_cache"] = False  # Dynamo cannot trace the making of such a cache
        return {name: value for name, value in values.items() if value is not None}

    def guess(self, name: str) -> object | None:
        """A value for the argument `name`; ``<image>`` asks for the id that stands for a picture in a text."""
        if name.startswith("<"):
            return self._token(name[1:-1])
        if name in self.family.inputs:
            told = self.family.inputs[name]
            return told(self.sizes) if callable(told) else told
        return self._text(name) or self._picture(name) or self._sound(name) or self._series(name) or self._other(name)

    def _token(self, kind: str) -> int | None:
        for word in (kind, {"speech": "audio", "audio": "speech"}.get(kind, kind)):
            found = self.sizes.number(f"{word}_token_id", f"{word}_token_index", f"{word}_placeholder_token_id")
            if found:
                return found
        return None

    def _vocabulary(self, near: tuple[str, ...]) -> int:
        return self.sizes.number("vocab_size", "text_vocab_size", near=near, default=100)

    def _text(self, name: str) -> Drawn | None:
        ids = (ROWS, LENGTH)
        special = self.sizes.special()
        if name in ("input_ids", "decoder_input_ids", "query_ids", "question_input_ids"):
            near: tuple[str, ...] = (
                ("decoder",) if name.startswith("decoder") else ("text", "encoder", "llm", "language")
            )
            return Drawn("ids", ids, self._vocabulary(near), avoided=special)
        if name in ("attention_mask", "decoder_attention_mask", "input_mask"):
            return Drawn("ones", ids)
        if name in ("token_type_ids", "langs"):
            return Drawn("zeros", ids)
        if name in ("position_ids", "cache_position"):
            return Drawn("order", ids if name == "position_ids" else (LENGTH,))
        if name == "bbox":
            return Drawn("boxes", (*ids, 4))
        if name in (
            "inputs_embeds",
            "hidden_states",
            "encoder_hidden_states",
            "encoder_outputs",
            "decoder_inputs_embeds",
        ):
            near = ("text", "decoder") if name.startswith("decoder") else ("text",)
            return Drawn("normal", (*ids, self.sizes.number("hidden_size", "d_model", near=near, default=64)))
        if name == "labels":
            return self._labels()
        return None

    def _labels(self) -> Drawn | None:
        head = self.model.__name__
        classes = self.sizes.number("num_labels", default=2)
        if re.search(r"(SequenceClassification|ImageClassification|AudioClassification|VideoClassification)", head):
            return Drawn("ids", (ROWS,), min(classes, 2))
        if "TokenClassification" in head:
            return Drawn("ids", (ROWS, LENGTH), min(classes, 2))
        if "MultipleChoice" in head:
            return Drawn("zeros", (ROWS,))
        if re.search(r"(LM|Generation|Causal|PreTraining)", head) and "input_ids" in self.allowed:
            return Drawn("ids", (ROWS, LENGTH), self._vocabulary(("decoder", "text")), avoided=self.sizes.special())
        return None

    def _picture(self, name: str) -> Drawn | None:
        near = ("vision", "image", "backbone", "encoder", "visual", "vit")
        height, width = (
            self.sizes.pair("image_size", near) or self.sizes.pair("input_size", near) or (self.picture, self.picture)
        )
        channels = self.sizes.number(
            "num_channels", "in_channels", "in_chans", "num_input_channels", near=near, default=3
        )
        rows = ROWS if height <= 400 else 1
        frames = self.sizes.number("num_frames", "frames_per_clip", near=near, default=0)
        if name in ("pixel_values", "image_grid_thw") and "image_grid_thw" in self.allowed:
            return self._grid(name, channels)
        if name in ("pixel_values_images", "images", "image", "x", "prompt_masks") or name.endswith("pixel_values"):
            if frames and name == "pixel_values" and "pixel_values_videos" not in self.allowed:
                return Drawn("normal", (rows, frames, channels, height, width))
            return Drawn("normal", (rows, channels, height, width))
        if name in ("pixel_values_videos", "videos"):
            return Drawn("normal", (rows, frames or 4, channels, height, width))
        if name == "pixel_mask":
            return Drawn("ones", (rows, height, width))
        if name in ("image_sizes", "original_sizes"):
            return Drawn("ids", (rows, 2), 1)
        if name == "bool_masked_pos":
            patch = self.sizes.pair("patch_size", near) or (16, 16)
            return Drawn("mask", (rows, (height // max(patch[0], 1)) * (width // max(patch[1], 1))))
        return None

    def _grid(self, name: str, channels: int) -> Drawn:
        """A picture a row of the text, as flattened patches, and how many patches each has in time, height and width."""
        side = 2 * self.sizes.number("spatial_merge_size", "merge_size", default=2)
        if name == "image_grid_thw":
            return Drawn("ids", (ROWS, 3), 1, placed=((1, 1), (side, 2)))
        patch = self.sizes.number("patch_size", near=("vision",), default=14)
        width = channels * self.sizes.number("temporal_patch_size", default=1) * patch**2
        return Drawn("normal", (ROWS * side * side, width))

    def _sound(self, name: str) -> Drawn | None:
        near = ("audio", "speech", "encoder", "acoustic")
        bins = self.sizes.number(
            "num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "feature_size", "input_dim",
            "mel_bins", "num_mels", "n_mels", near=near,
        )  # fmt: skip
        if name == "input_features":
            length = self.sizes.number("max_source_positions", near=near)
            if length and self.sizes.has("num_mel_bins"):
                return Drawn("normal", (ROWS, bins or 80, 2 * length))
            return Drawn("normal", (ROWS, 128, bins or 80))
        if name in ("input_values", "audio_values", "waveform", "input_audio", "audio"):
            if bins and self.sizes.number("max_length", near=near) > 64:
                return Drawn("normal", (ROWS, self.sizes.number("max_length", near=near), bins))
            channels = self.sizes.number("audio_channels", near=near)
            if channels or self.sizes.has("codebook_size"):
                return Drawn("normal", (ROWS, channels or 1, _SOUND))
            return Drawn("normal", (ROWS, _SOUND))
        if name == "spectrogram":
            return Drawn("normal", (ROWS, 64, self.sizes.number("model_in_dim", "num_mel_bins", default=80)))
        return None

    def _series(self, name: str) -> Drawn | None:
        sizes = self.sizes
        context = sizes.number("context_length", "prediction_length", default=32)
        lags = getattr(self.config, "lags_sequence", None)
        past = context + (max(lags) if lags and "patch" not in str(self.config.model_type) else 0)
        future = sizes.number("prediction_length", default=8)
        channels = sizes.number("num_input_channels")
        width = sizes.number("input_size")
        tail = (channels,) if channels else (width,) if width > 1 else ()
        times = sizes.number("num_time_features")
        shapes: dict[str, tuple[str, tuple[int, ...]]] = {
            "past_values": ("spread", (ROWS, past, *tail)),
            "past_observed_mask": ("mask", (ROWS, past, *tail)),
            "past_time_features": ("spread", (ROWS, past, times)),
            "future_values": ("spread", (ROWS, future, *tail)),
            "future_time_features": ("spread", (ROWS, future, times)),
            "static_categorical_features": ("zeros", (ROWS, sizes.number("num_static_categorical_features"))),
            "static_real_features": ("spread", (ROWS, sizes.number("num_static_real_features"))),
            "target_values": ("ids", (ROWS,)),
        }
        if name not in shapes:
            return None
        kind, shape = shapes[name]
        return Drawn(kind, shape, 2)  # type: ignore[arg-type]

    def _other(self, name: str) -> object | None:
        """By the annotation, and by what the name ends with."""
        parameter = self.parameters.get(name)
        written = str(parameter.annotation) if parameter is not None else ""
        hidden = self.sizes.number("hidden_size", "d_model", "embed_dim", default=64)
        if "Tensor" not in written:
            if re.search(r"\bbool\b", written):
                return False
            if re.search(r"\bint\b", written):
                return 2
            if re.search(r"\bfloat\b", written):
                return 1.0
            if re.search(r"\bstr\b", written):
                return None
        if name.endswith("_ids") or name in ("input", "tokens"):
            near = tuple(name.split("_")[:1])
            return Drawn("ids", (ROWS, LENGTH), self._vocabulary(near))
        if name.endswith("mask"):
            return Drawn("ones", (ROWS, LENGTH))
        if "LongTensor" in written or name.endswith(("_index", "_position", "_positions", "_label")):
            return Drawn("zeros", (ROWS,))
        if self.allowed.get(name, False) or "Tensor" in written:
            return Drawn("normal", (ROWS, LENGTH, hidden))
        return None


def takes_configuration(model: Any) -> bool:
    """Whether something is a class of model that is built from a configuration of its own."""
    return isinstance(model, type) and hasattr(model, "config_class") and hasattr(model, "from_pretrained")
