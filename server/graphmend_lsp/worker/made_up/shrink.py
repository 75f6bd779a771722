"""A configuration of a transformers model made small: few layers, narrow widths, few words; still consistent in itself.

Whatever is not understood is left as the configuration's author had it: all widths are divided by one number that divides
every count of heads, so that what is derived from them still fits. Knows configurations as objects with attributes only.
"""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

VOCABULARY = 256
LAYERS = 2
MOST_LAYERS = 8
MOST_PARAMETERS = 400_000_000
_IMAGE, _SMALL_IMAGE = 224, 112
_NARROWEST, _NARROW = 32, 256  # no width becomes less than the first; one of the second is small enough
_WIDE = 512  # a width that makes a model slow
_EXPERTS, _QUERIES, _CHUNK, _SOURCE, _FILTERS = 4, 50, 16, 128, 8

_HEADS = re.compile(
    r"(^|_)(n_?heads?|num_heads|attention_heads|key_value_heads|kv_heads|n_head_kv|query_heads)$|^n_head$"
)
_KV = re.compile(r"key_value|kv")
_LAYERS = re.compile(
    r"^(num|n)_.*layers?$|^n_layers?$|_(layers|depth)$|^(depth|layers|num_blocks|num_block|num_hidden_groups)$"
    r"|^(num_)?(encoder|decoder)_(layers|blocks)$"
)
_NO_LAYERS = re.compile(
    r"head|mlp_num|conv|feature|window|query|dense_layers|first|adapter|interleave|skip|period|freq|predict|mtp|ctc|mask"
    r"|prenet|postnet|num_mem_blocks|downsampl|upsampl|fpn|residual|feedforward_layers|num_ffn"
)
_WIDTH = re.compile(
    r"hidden|embed|intermediate|ffn|inner|proj|width|(^|_)dim$|_dims?$|d_model|d_ff$|n_embd|d_inner|channels$|attention_size"
    r"|cross_attention|_rank$|units$"
)
_NO_WIDTH = re.compile(
    r"vocab|image|patch|kernel|window|head_dim|head_size|d_kv|max|position|chunk|block|sample|(?<!en)(?<!de)code|bucket|label|crop|conv|stride"
    r"|context|frame|mel|rope|rotary|state|divis|batch|group|num_channels|in_channels|input_channels|audio|feat|relative|token"
    r"|cache|layers|prob|dropout|act|std|scal|ratio|size_factor|num_hidden|is_|use_|norm|expand|num_|n_codes|mrope|nope"
)
_NO_SIZE = re.compile(
    r"vocab|image|patch|kernel|window|max|position|stride|ratio|rate|length|chunk|sequence|token|layer|block|head|label|bucket|crop"
    r"|context|frame|batch|cache|prob|dropout|eps|std|scal|theta|norm|expert|_ids?$|index|(^|_)(is|use)_|class|step|level|group|type"
    r"|mel|seed|precision|bits?$"
)
_TEXT_WINDOW = re.compile(r"sliding_window|attention_window|window_layers")
_WIDTHS = re.compile(r"(channels|dims?|sizes|widths?)$")
_BETWEEN = re.compile(
    r"^(moe_|mlp_|shared_expert_|shared_|dense_)?intermediate_size$|^(encoder_|decoder_)?ffn_dim$|^d_ff$"
)
_STATES = re.compile(r"mamba|ssm|expand|conv_kernel|state_size|time_step|dw_?conv")
_SLIM = 64
_LEAST = 8  # what a number that is not named for a width becomes at least
_WORDS = re.compile(r"vocab_size|vocab$")
_TOKEN = re.compile(r"(_token_(id|index)|_id|_token|_ids|_index)$")
_EXPERT = re.compile(r"(num|n)(_local|_routed|_moe)?_experts$|^moe_num_experts$|^num_experts$")
_TOP = re.compile(r"experts_per_tok(en)?$|moe_top_?k$|^moe_k$|num_selected_experts$")

_OTHER_LAYER = {  # what says which layer is of another kind, and how much more layers than that there must be to have both
    "attn_layer_period": 0, "sliding_window_pattern": 0, "full_attn_mod": 0, "attn_layer_offset": 1,
    "first_k_dense_replace": 1,
}  # fmt: skip
_OTHER_SOONER = {name: LAYERS - more for name, more in _OTHER_LAYER.items()}
"""What these are at most where the other kind may come at once."""


@dataclass(frozen=True)
class Level:
    """How far a configuration is shrunk. `apart`: each part of it by a factor of its own. `narrow`: heads are narrower, too,
    by that number, where widths stay large without. `all_sizes`: also numbers that are not named for a width, which are often
    computed from widths. `images`: those that nobody cuts into windows, too, where they are not large. `sooner`: layers of
    other kinds come earlier, so that fewer layers have all kinds. `slim`: what stands between two layers of an MLP is narrow
    whatever the other widths are, where nothing else is computed from it.
    """

    layers: bool = True
    widths: bool = True
    words: bool = True
    apart: bool = False
    narrow: int = 1
    all_sizes: bool = False
    images: bool = False
    sooner: bool = False
    slim: bool = False


LEVELS = (
    Level(narrow=2, images=True, sooner=True, slim=True),
    Level(narrow=2),
    Level(narrow=2, all_sizes=True, images=True, sooner=True),
    Level(),
    Level(apart=True),
    Level(widths=False),
    Level(layers=False),
    Level(widths=False, words=False),
    Level(False, False, False),
    Level(apart=True, narrow=2, images=True, sooner=True, slim=True),
)
ALL_SIZES, APART, PARTS = 2, 4, 9  # their numbers among them; the last is tried first where parts differ (`is_uneven`)


def shrunk(config: Any, level: Level, told: Mapping[str, Any] | None = None) -> Any:
    """A new configuration of the same class, shrunk; `told` are values by dotted name that are set last."""
    everything = list(every_part(config))
    factor = _factor(everything, level.all_sizes) if level.widths and not level.apart else 1
    if level.narrow > 1 and _widest(everything) // factor <= _NARROW:
        level = replace(level, narrow=1)
    level = replace(level, images=level.images and may_be_small(config))
    words = _new_ids(everything) if level.words else {}
    result = _rebuilt(config, level, factor, words)
    for name, value in (told or {}).items():
        _set(result, name, value)
    for part in every_part(result):
        _fit_sections(part)
        _fit_pictures(part)
    return result


def is_uneven(config: Any) -> bool:
    """Whether one factor for all leaves a part wide that one of its own makes narrow: a large text model beside an encoder."""
    everything = list(every_part(config))
    common = _factor(everything)
    return any(_widest([one]) // common > _WIDE and _factor([one]) > common for one in everything)


def _fit_sections(config: Any) -> None:
    """The sections of a rotary embedding of several dimensions are as long together as half of what is rotated."""
    for name in ("rope_parameters", "rope_scaling"):
        rope = attribute(config, name)
        sections = rope.get("mrope_section") if isinstance(rope, dict) else None
        width, heads = attribute(config, "hidden_size"), attribute(config, "num_attention_heads")
        if not isinstance(sections, list) or not isinstance(width, int) or not isinstance(heads, int):
            continue
        rotated = rope.get("partial_rotary_factor") or attribute(config, "partial_rotary_factor") or 1.0
        half = (int((attribute(config, "head_dim") or width // heads) * rotated) + 1) // 2
        if sum(sections) != half >= len(sections):
            setattr(config, name, {**rope, "mrope_section": scaled(sections, half)})


def scaled(sections: list[int], total: int) -> list[int]:
    """The numbers with another sum, in about the same relation to each other."""
    rest = [max(one * total // sum(sections), 1) for one in sections[1:]]
    return [total - sum(rest), *rest]


def _fit_pictures(config: Any) -> None:
    """What a part for pictures gives is as wide as the text that it goes into."""
    text = attribute(attribute(config, "text_config"), "hidden_size")
    for part in parts(config).values():
        if isinstance(text, int) and isinstance(attribute(part, "out_hidden_size"), int):
            part.out_hidden_size = text


def may_be_small(config: Any) -> bool:
    """Whether pictures may be small: windows that they are cut into are made otherwise where one covers a picture.

    So of windows as large as 7 patches a small picture has several, also after the first halving. Of others it is not known.
    """

    def has_several(one: Any) -> bool:
        size, patch = attribute(one, "window_size"), attribute(one, "patch_size")
        named = [name for name in vars(one) if "window" in name and not _TEXT_WINDOW.search(name)]
        if named != ["window_size"] or not isinstance(size, int) or not isinstance(patch, int) or patch < 1:
            return not named
        return _SMALL_IMAGE // patch // 2 > size

    return all(map(has_several, every_part(config)))


def parts(config: Any) -> dict[str, Any]:
    """The configurations within a configuration, by the name of their attribute."""
    return {name: value for name, value in vars(config).items() if is_config(value) and not name.startswith("_")}


def is_config(value: Any) -> bool:
    """Whether something is a configuration object."""
    return hasattr(value, "to_dict") and hasattr(value, "model_type") and not isinstance(value, type)


def small_values(config: Any, level: Level) -> dict[str, Any]:
    """The attributes of any object with numbers in it that are to be smaller, with their new values."""
    return _changes(config, level, _factor([config]), {})


def every_part(config: Any, depth: int = 0) -> Iterator[Any]:
    """The configuration and all within it."""
    yield config
    if depth < 4:
        for part in parts(config).values():
            yield from every_part(part, depth + 1)


def _numbers(config: Any) -> dict[str, int]:
    return {
        name: value
        for name, value in vars(config).items()
        if isinstance(value, int) and not isinstance(value, bool) and not name.startswith("_")
    }


def _factor(configs: list[Any], all_sizes: bool = False) -> int:
    """The power of two by which all widths and counts of heads are divided, and with `all_sizes` other sizes."""
    common, fewest = 0, 1 << 30
    for config in configs:
        for name, value in vars(config).items():
            if not _HEADS.search(name) or _KV.search(name):
                continue
            counts = value if isinstance(value, (list, tuple)) else [value]
            if not all(isinstance(count, int) for count in counts):
                continue
            for count in counts:
                common, fewest = math.gcd(common, count), min(fewest, count)
    widest = _widest(configs)
    factor = 1
    while common % (factor * 2) == 0 and factor * 2 <= max(fewest // 2, 1) and factor < 16 and widest // factor > 256:
        factor *= 2
    while common == 0 and factor < 16 and widest // factor > (_NARROWEST if all_sizes else 512):  # no heads to divide
        factor *= 2
    if factor == 1 and common > 2 and widest > 1024:  # an odd count of heads
        return common
    return factor


def _widest(configs: list[Any]) -> int:
    return max((number for one in configs for name, number in _numbers(one).items() if _is_width(name)), default=0)


def _is_width(name: str) -> bool:
    return bool(_WIDTH.search(name)) and not _NO_WIDTH.search(name)


def _new_ids(configs: list[Any]) -> dict[int, int]:
    """Ids of special tokens that the small vocabulary has no room for, each with the one it becomes."""
    large: dict[int, int] = {}
    free = VOCABULARY - 1
    for config in configs:
        for name, value in vars(config).items():
            if not _TOKEN.search(name):
                continue
            for one in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(one, int) and not isinstance(one, bool) and one >= VOCABULARY // 2 and one not in large:
                    large[one] = free
                    free = max(free - 1, VOCABULARY // 4)
    return large


def _rebuilt(config: Any, level: Level, factor: int, words: dict[int, int]) -> Any:
    changes = _changes(config, level, _factor([config]) if level.apart else factor, words)
    accepted = inspect.signature(type(config).__init__).parameters
    told = _told(config)
    given = {name: value for name, value in {**told, **changes}.items() if name in accepted}
    small: dict[str, Any] = {name: _rebuilt(part, level, factor, words) for name, part in parts(config).items()}
    new = _made(type(config), [given, {}, {name: part.to_dict() for name, part in small.items()}], config)
    for name, value in {**small, **told, **changes}.items():
        if name in small:
            setattr(new, name, value)
        elif not is_config(vars(new).get(name)):
            vars(new)[name] = value
    return new


def _told(config: Any) -> dict[str, Any]:
    """What was set in a configuration by whoever made it: what its class alone would not have."""
    try:
        plain = vars(type(config)())
    except Exception:  # cannot be made of nothing
        return {}
    return {
        name: value
        for name, value in vars(config).items()
        if not is_config(value) and (name not in plain or plain[name] != value)
    }


def _made(kind: Any, ways: list[dict[str, Any]], config: Any) -> Any:
    """A new configuration: with the changes, else as the default, else from its parts (to be changed afterwards)."""
    for given in ways:
        try:
            return kind(**given)
        except Exception:  # a check that these do not pass
            continue
    return copy.deepcopy(config)


def _changes(config: Any, level: Level, factor: int, words: dict[int, int]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    numbers = _numbers(config)
    if level.layers:
        changes.update(_fewer_layers(config, numbers, level.sooner))
        changes.update(_smaller_counts(numbers))
        changes.update(_smaller_images(config, level.images))
    for name, number in numbers.items():
        if factor > 1 and _HEADS.search(name):
            changes[name] = max(number // factor, 1)
        elif factor * level.narrow > 1 and _is_width(name) and (smaller := _divided(number, factor, level.narrow)):
            changes[name] = smaller
        elif level.all_sizes and not (_is_width(name) or _NO_SIZE.search(name)):
            changes[name] = _divided(number, factor, level.narrow, _LEAST) or number
        elif level.words and _WORDS.search(name) and number > VOCABULARY and "type" not in name:
            changes[name] = VOCABULARY
    if level.slim and not any(_STATES.search(name) for name in vars(config)):
        changes.update({name: _SLIM for name, number in numbers.items() if _BETWEEN.search(name) and number > _SLIM})
    widths = {number: changes[name] for name, number in numbers.items() if name in changes and _is_width(name)}
    changes.update(_alike(config, widths))
    if attribute(config, "num_key_value_heads", 0) is None and "num_attention_heads" in numbers:
        changes["num_key_value_heads"] = changes.get("num_attention_heads", numbers["num_attention_heads"])
    if attribute(config, "use_mamba_kernels"):
        changes["use_mamba_kernels"] = False  # they are for CUDA only
    if attribute(config, "vocab_size", 0) is None:
        changes["vocab_size"] = VOCABULARY // 4
    for name, value in vars(config).items():
        if words and _TOKEN.search(name):
            if isinstance(value, int) and not isinstance(value, bool):
                changes[name] = words.get(value, value)
            elif isinstance(value, list) and value and all(isinstance(one, int) for one in value):
                changes[name] = [words.get(one, one) for one in value]
    return changes


def _alike(config: Any, divided: Mapping[int, int]) -> dict[str, Any]:
    """The lists of widths, and the groups of one channel each, that are divided elsewhere, as they are there."""
    lists = {
        name: type(value)(divided[one] for one in value)
        for name, value in vars(config).items()
        if _WIDTHS.search(name) and isinstance(value, (list, tuple)) and value and not name.startswith("_")
        if all(isinstance(one, int) and one in divided for one in value)
    }
    groups = {
        name: divided[number]
        for name, number in _numbers(config).items()
        if name.endswith("_groups") and number in divided
    }
    return {**lists, **groups}


def _divided(number: int, factor: int, narrow: int, least: int = _NARROWEST) -> int:
    """A width divided by both where that is one, else by the first alone; 0 where neither is."""
    for by in (factor * narrow, factor):
        if by > 1 and number % by == 0 and number // by >= min(least, number):
            return number // by
    return 0


def _fewer_layers(config: Any, numbers: dict[str, int], sooner: bool) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if sooner:
        changes = {name: most for name, most in _OTHER_SOONER.items() if numbers.get(name, 0) > most}
        numbers = {**numbers, **changes}
    counts = {
        name: number
        for name, number in numbers.items()
        if _LAYERS.search(name) and not _NO_LAYERS.search(name) and LAYERS < number <= 512
    }
    lists = {
        name: value
        for name, value in vars(config).items()
        if isinstance(value, (list, tuple)) and len(value) > LAYERS and not name.startswith("_")
    }
    wanted = LAYERS
    for value in lists.values():
        if len(value) in counts.values() and all(isinstance(one, (str, int, bool, float)) for one in value):
            kinds = list(dict.fromkeys(value))
            wanted = max(wanted, 1 + max(list(value).index(kind) for kind in kinds) if len(kinds) <= 4 else wanted)
    of_layers = [name for name, value in lists.items() if len(value) in counts.values()]
    first = _first_of_kinds([lists[name] for name in of_layers]) if sooner else []
    if len({len(lists[name]) for name in of_layers}) != 1 or not LAYERS <= len(first) < wanted:
        first = []
    wanted = len(first) or wanted
    for name, more in _OTHER_LAYER.items():
        if isinstance(numbers.get(name), int):
            wanted = max(wanted, numbers[name] + more)
    if any(name.endswith(("out_indices", "out_features")) and value for name, value in vars(config).items()):
        counts = {}  # layers are named one by one
    wanted = min(wanted, MOST_LAYERS)
    for name, number in counts.items():
        changes[name] = min(number, wanted)
    for name, value in lists.items():
        if len(value) in counts.values() and len(value) > wanted:
            changes[name] = type(value)([value[at] for at in first] or value[:wanted])
        elif re.search(r"depths?$|num_layers$|layers$|_blocks$", name) and all(isinstance(one, int) for one in value):
            changes[name] = type(value)(min(one, 1) for one in value)
    return changes


def _first_of_kinds(lists: list[Any]) -> list[int]:
    """The layers that are the first of their kind, by lists that say a part of the kind of each; at least two, in their order."""
    seen: dict[tuple[str, ...], int] = {}
    for at, kind in enumerate(zip(*lists, strict=False)):
        seen.setdefault(tuple(map(repr, kind)), at)
    found = list(seen.values())
    return found if len(found) >= LAYERS else [*found, *range(1, LAYERS + 1 - len(found))]


def _smaller_counts(numbers: dict[str, int]) -> dict[str, Any]:
    """Fewer experts and queries, smaller chunks of a sequence, and shorter sounds."""
    changes: dict[str, Any] = {}
    groups = numbers.get("n_group", 1)
    for name, number in numbers.items():
        if _EXPERT.search(name) and number > _EXPERTS:
            changes[name] = max(_EXPERTS, 2 * groups)
        elif name in ("chunk_size", "mamba_chunk_size") and number > _CHUNK:
            changes[name] = _CHUNK  # a state space computes chunk by chunk: the square of it, whatever the length
        elif name == "num_queries" and number > _QUERIES:
            changes[name] = _QUERIES
        elif name == "num_filters" and number > _FILTERS:
            changes[name] = _FILTERS  # of the first layer of a convolutional codec, whose others have a multiple of it
        elif name == "max_source_positions" and number > _SOURCE:
            changes[name] = _SOURCE  # an encoder of sounds takes all of them in each call
        elif _TOP.search(name) and number > LAYERS:
            changes[name] = LAYERS
    return changes


def _smaller_images(config: Any, small: bool) -> dict[str, Any]:
    size = attribute(config, "image_size")
    patch = attribute(config, "patch_size")
    wanted = _SMALL_IMAGE if small else _IMAGE
    if not isinstance(size, int) or size <= (wanted if small else 384):
        return {}
    step = patch if isinstance(patch, int) and patch > 0 else 32
    return {"image_size": wanted if wanted % step == 0 else step * max(wanted // step, 2)}


def attribute(config: Any, name: str, default: Any = None) -> Any:
    """An attribute of a configuration; the default, too, where it raises: what differs from layer to layer has no value."""
    try:
        return getattr(config, name, default)
    except Exception:
        return default


def _set(config: Any, name: str, value: Any) -> None:
    *path, last = name.split(".")
    for step in path:
        config = getattr(config, step)
    if last == "rope_scaling" and attribute(config, "rope_parameters") is not None:
        return  # newer configurations have that in its place
    setattr(config, last, value)
